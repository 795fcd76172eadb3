#include "common/sha256.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "common/status_matchers.h"

namespace rondo {
namespace {

// FIPS 180-2, appendix B.
constexpr char kAbc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr char kEmpty[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

std::string WriteFile(const std::string& name, const std::string& content) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

TEST(Sha256Test, GivesThePublishedValues) {
  EXPECT_EQ(Sha256Hex("abc"), kAbc);
  EXPECT_EQ(Sha256Hex(""), kEmpty);
}

TEST(Sha256Test, PiecesHashAsTheWhole) {
  Sha256 hash;
  hash.Update("a");
  hash.Update("");
  hash.Update("bc");
  EXPECT_EQ(hash.HexDigest(), kAbc);
}

TEST(Sha256Test, AFileHashesAsItsBytes) {
  const std::string bytes(3'000'000, 'x');
  ASSERT_OK_AND_ASSIGN(const std::string hash, Sha256HexOfFile(WriteFile("big", bytes)));
  EXPECT_EQ(hash, Sha256Hex(bytes));
}

TEST(Sha256Test, AMissingFileIsNamed) {
  EXPECT_THAT(Sha256HexOfFile("/nowhere/file"),
              StatusIs(absl::StatusCode::kNotFound, testing::HasSubstr("/nowhere/file")));
}

TEST(IdentifyFileTest, HashesASmallFileWhole) {
  ASSERT_OK_AND_ASSIGN(const FileIdentity identity, IdentifyFile(WriteFile("abc", "abc")));
  EXPECT_EQ(identity.size_bytes, 3);
  EXPECT_EQ(identity.sha256, kAbc);
  EXPECT_FALSE(identity.sampled);
}

TEST(IdentifyFileTest, SamplesALargeFileAndSeesItsEnds) {
  std::string bytes(5'000'000, 'x');
  ASSERT_OK_AND_ASSIGN(const FileIdentity before, IdentifyFile(WriteFile("large", bytes), 1000));
  EXPECT_TRUE(before.sampled);
  for (const size_t changed : {size_t{0}, bytes.size() - 1}) {
    std::string other = bytes;
    other[changed] = 'y';
    ASSERT_OK_AND_ASSIGN(const FileIdentity after, IdentifyFile(WriteFile("other", other), 1000));
    EXPECT_NE(after.sha256, before.sha256) << changed;
  }
}

}  // namespace
}  // namespace rondo
