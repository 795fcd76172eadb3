// A folder for one process's temporary files. A killed process leaves its folder behind; the next
// one that starts beside it removes it.
#ifndef RONDO_WORKER_EDGE_SCRATCH_FOLDER_H_
#define RONDO_WORKER_EDGE_SCRATCH_FOLDER_H_

#include <string>

namespace rondo::worker {

// Held by an flock on the folder itself, which ends with the process and holds across containers
// that share the file system. Threads: one.
class ScratchFolder {
 public:
  // Makes PARENT/NAME, after removing each PARENT/PREFIX* that nobody holds. `name` begins with
  // `prefix`, and no other process has that name. A folder that cannot be made is named by whoever
  // writes into it.
  ScratchFolder(const std::string& parent, const std::string& prefix, const std::string& name);
  ~ScratchFolder();  // Removes it.
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  // Now, with all that is in it. May be called again.
  void Remove();

 private:
  const std::string path_;
  int fd_ = -1;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_SCRATCH_FOLDER_H_
