"""The planted faults: name, what it means, edits (file, text that is there once, text instead)."""
import dataclasses


@dataclasses.dataclass
class Fault:
    name: str
    means: str
    edits: list
    likely: tuple = ()  # Kinds of weather to try first.
    seeds: int = 0  # So many of those at least: it shows rarely.


def on(name):
    """C++ that is true if this fault is switched on."""
    return ('[] { static const char* const on = std::getenv("RONDO_MUTANT"); '
            f'return on != nullptr && std::string_view(on) == "{name}"; }}()')


ABSENCE = 'server/core/job_machine_absence.cc'
ARRIVAL = 'server/core/job_machine_arrival.cc'
GROUP = 'server/core/job_machine_group.cc'
ROUND = 'server/core/job_machine_round.cc'
DUTIES = 'worker/core/duties.cc'
REPAIR = 'server/core/job_machine_repair.cc'
STEER = 'server/core/job_machine_steer.cc'

FAULTS = [
    Fault('early_apply', 'a staged result becomes the state before its Commit (rule 5)', [
        (DUTIES, '''  out->messages.push_back(reduced);
}''', f'''  out->messages.push_back(reduced);
  if ({on('early_apply')}) Apply(reduced.round, reduced.reduced.state_hash, out);
}}''')]),
    Fault('dropped_staged', 'a staged result is forgotten when the stream breaks (rule 7)', [
        (DUTIES, '  if (staged_) returning.staged.push_back(*staged_);',
         f'  if (staged_ && !{on("dropped_staged")}) returning.staged.push_back(*staged_);')],
        ('JournalCrashes', 'RestartsAndKills')),
    Fault('resend_left_out', 'a worker does not say again what is unanswered (rule 3)', [
        (DUTIES, '  std::vector<WorkerBody>& messages = out->messages;',
         f'  if ({on("resend_left_out")}) return;\n  std::vector<WorkerBody>& messages = out->messages;')],
        ('BrokenStreams',)),
    Fault('stale_stream', 'messages of a stream that was replaced or closed count (rule 2)', [
        ('server/core/job_machine.cc', '  if (worker == nullptr) return;\n  worker->heard = now_;',
         f'''  static std::map<StreamId, std::pair<std::string, Incarnation>> streams;
  if (worker != nullptr) {{
    streams[event.stream] = {{worker->name, worker->incarnation}};
  }} else if ({on('stale_stream')} && streams.contains(event.stream)) {{
    worker = roster_.Find(streams[event.stream].first, streams[event.stream].second);
  }}
  if (worker == nullptr) return;
  worker->heard = now_;''')], ('SmallWorlds',)),
    Fault('old_dial', 'an older dial replaces a newer one (rule 2)', [
        ('server/core/membership.cc', '    if (hello.dial <= known->dial) {',
         f'    if (hello.dial <= known->dial && !{on("old_dial")}) {{')], ('SmallWorlds',)),
    Fault('no_majority', 'any result is committed, whoever has another one (rule 6)', [
        ('server/core/vote.cc', '    if (2 * tally.votes > ballots.size() && tally.witness)',
         f'    if ((2 * tally.votes > ballots.size() || {on("no_majority")}) && tally.witness)')],
        ('WrongResults',)),
    Fault('same_group_again', 'a failed attempt is repeated in its broken group (rule 6)', [
        (ROUND, '''  group_.reset();
  if (round_->attempts >=''', f'''  if (!{on('same_group_again')}) group_.reset();
  if (round_->attempts >=''')], ('SmallWorlds',)),
    Fault('unjournaled_commit', 'a commit is sent without its record (rule 1)', [
        (ROUND, '  Journal(commit);\n  TellLost', f'  if (!{on("unjournaled_commit")}) Journal(commit);\n  TellLost')]),
    Fault('reused_group', 'a group number is used twice', [
        (GROUP, '  message.group = history_.last_group.Next();',
         f'  message.group = {on("reused_group")} && history_.last_group ? history_.last_group : history_.last_group.Next();')]),
    Fault('returned_twice', 'samples of who is not in the commit return twice', [
        ('server/core/round.cc', '    if (!taking_part.contains(i)) ReturnSamples(round.members[i].runs, commit.ledger);',
         f'''    if (!taking_part.contains(i)) ReturnSamples(round.members[i].runs, commit.ledger);
    if ({on('returned_twice')} && !taking_part.contains(i)) ReturnSamples(round.members[i].runs, commit.ledger);''')],
        ('Kills',)),
    Fault('all_count', 'samples of who is not in the commit count as used', [
        ('server/core/round.cc', '    if (!taking_part.contains(i)) ReturnSamples(round.members[i].runs, commit.ledger);',
         f'    if (!taking_part.contains(i) && !{on("all_count")}) ReturnSamples(round.members[i].runs, commit.ledger);')],
        ('Kills',)),
    Fault('not_finite_counts', 'samples of who is not finite count as used (rule 15)', [
        ('server/core/round.cc', '    if (!IsFinite(member)) {\n      DropSamples',
         f'    if (!IsFinite(member) && !{on("not_finite_counts")}) {{\n      DropSamples')],
        ('NotFinite',)),
    Fault('void_loses_samples', 'the samples of a voided round do not return (rule 21)', [
        (ROUND, '  Journal(VoidRecord{round_->id, why});',
         f'  if ({on("void_loses_samples")}) committed_.ledger = round_->after;\n  Journal(VoidRecord{{round_->id, why}});')],
        ('Kills',)),
    Fault('joiner_keeps', 'a joiner takes the values and keeps its own moments (rule 8)', [
        (GROUP, 'need = worker->debt == Debt::kValues ? StateNeed::kValues : StateNeed::kAll;',
         f'need = worker->debt == Debt::kValues || {on("joiner_keeps")} ? StateNeed::kValues : StateNeed::kAll;')]),
    Fault('sick_keeps', 'moments that are not finite are kept (rule 15)', [
        (GROUP, '    } else if (worker->debt == Debt::kMoments && any_good) {',
         f'    }} else if (worker->debt == Debt::kMoments && any_good && !{on("sick_keeps")}) {{')], ('NotFinite',)),
    Fault('odd_remembers', 'the odd one out goes on from the state it had (rule 8)', [
        (DUTIES, '    DropOrderInHand(out);\n    ForgetState();',
         f'    DropOrderInHand(out);\n    if ({on("odd_remembers")}) return;\n    ForgetState();')], ('WrongResults', 'RestartsAndKills')),
    Fault('any_staged_commits', 'a staged result of the committed attempt is applied, whatever it is (rule 7)', [
        (ARRIVAL, 'it->second.attempt == staged.attempt && it->second.state_hash == staged.state_hash) {\n      fate.fate',
         f'it->second.attempt == staged.attempt && ({on("any_staged_commits")} || it->second.state_hash == staged.state_hash)) {{\n      fate.fate')],
        ('WrongResults', 'RestartsAndKills')),
    Fault('open_round_forgotten', 'a new term does not take the open round up (rule 20)', [
        ('server/core/job_machine_restart.cc', '  if (history_.open) AdoptRound();',
         f'  if (history_.open && !{on("open_round_forgotten")}) AdoptRound();')], ('Restarts',)),
    Fault('own_sleep_counts', 'a coordinator that was stopped counts all as silent', [
        (ABSENCE, '  if (late < config_.limits.heartbeat ||',
         f'  if ({on("own_sleep_counts")} || late < config_.limits.heartbeat ||')], ('Restarts',)),
    Fault('never_lost', 'who is away stays a member for ever (rule 12)', [
        (ABSENCE, '      Lose(worker, fmt::format("away for {}", absl::FormatDuration(limits.lost)));',
         f'      if (!{on("never_lost")}) Lose(worker, fmt::format("away for {{}}", absl::FormatDuration(limits.lost)));')],
        ('Kills',)),
    Fault('rewind_keeps_ledger', 'a rewind does not take samples back (rule 21)', [
        ('server/core/history.cc', '  history.committed = kept == history.checkpoints.end() ? CommittedState{} : kept->second.state;',
         f'''  const LedgerState before = history.committed.ledger;
  history.committed = kept == history.checkpoints.end() ? CommittedState{{}} : kept->second.state;
  if ({on('rewind_keeps_ledger')}) history.committed.ledger = before;''')], ('Kills',)),
    Fault('undone_still_holds', 'who held a state before a rewind still holds it (rule 21)', [
        ('server/core/history.cc', '  history.commits.clear();', f'  if (!{on("undone_still_holds")}) history.commits.clear();'),
        ('server/core/job_machine_rewind.cc', '    worker.holds.reset();', f'    if (!{on("undone_still_holds")}) worker.holds.reset();')],
        ('Kills', 'Freezes')),
    Fault('repair_left_out', 'who is a step ahead does not give its result, who is behind does the step again (rule 18)', [
        ('server/core/continuation.cc', '    const bool behind = survivor.stands_at < decision.stands_at;',
         f'    const bool behind = survivor.stands_at < decision.stands_at && !{on("repair_left_out")};'),
        (REPAIR, '    good = good && assembly_->stand_at[rank] == assembly_->stand_at[0];',
         f'    good = good && (assembly_->stand_at[rank] == assembly_->stand_at[0] || {on("repair_left_out")});'),
        (REPAIR, '  const uint64_t step = assembly_->stand_at[0];',
         f"""  uint64_t step = assembly_->stand_at[0];
  if ({on('repair_left_out')}) {{
    for (const uint64_t at : assembly_->stand_at) step = at < step ? at : step;
  }}"""),
        (REPAIR, '  const std::optional<uint64_t> hash = RepairedHash();',
         f'  if ({on("repair_left_out")}) return ContinueRound();\n'
         '  const std::optional<uint64_t> hash = RepairedHash();')], ('StepRepairs', 'KillsParallel')),
    Fault('repaired_twice', 'the steps before a repair are dealt again (rule 18)', [
        ('server/core/continuation.cc', '  if (steps == 0) return so_far;',
         f'  if (steps == 0 || {on("repaired_twice")}) return so_far;')], ('StepRepairs', 'KillsParallel')),
    Fault('middle_still_holds', 'who dropped a parallel order in its middle still holds a state (rule 18)', [
        (DUTIES, '  if (moved) ForgetState();', f'  if (moved && !{on("middle_still_holds")}) ForgetState();')],
        ('StepRepairs',), 1500),
    Fault('rests_not', 'a paused job goes on', [
        (STEER, '  if (!history_.pause || Finishing()) return false;',
         f'  if (!history_.pause || Finishing() || {on("rests_not")}) return false;')], ('Steering',)),
    Fault('pause_unjournaled', 'a pause is promised and not journaled', [
        (STEER, '    Journal(RequestRecord{RequestKind::kPause, reason, "", {}, now_});',
         f"""    if ({on('pause_unjournaled')}) {{
      history_.pause = reason;
    }} else {{
      Journal(RequestRecord{{RequestKind::kPause, reason, "", {{}}, now_}});
    }}""")], ('Steering',)),
    Fault('pause_forgotten', 'a new term does not know that the job is paused', [
        ('server/core/job_machine_restart.cc', '  if (!ended && !config_.fresh_workers) AwaitJournaledMembers();',
         f'  if ({on("pause_forgotten")}) history_.pause.reset();\n'
         '  if (!ended && !config_.fresh_workers) AwaitJournaledMembers();')],
        ('SteeringAndRestarts',)),
    Fault('drained_at_once', 'who is to drain does not finish its order (rule 16)', [
        (STEER, '  if (!ordered && !IsMember(*worker) && !Holds(*worker)) {',
         f'  if ({on("drained_at_once")} || (!ordered && !IsMember(*worker) && !Holds(*worker))) {{')], ('Steering',)),
    Fault('drains_not', 'who was asked to go gets another order', [
        (STEER, '  return it != history_.drains.end() && it->second == worker.incarnation;',
         f'  return it != history_.drains.end() && it->second == worker.incarnation && !{on("drains_not")};')],
        ('Steering',)),
    Fault('save_forgotten', 'a checkpoint that was asked for is not made', [
        (STEER, '    Journal(RequestRecord{RequestKind::kCheckpoint, "", "", {}, now_});',
         f"""    Journal(RequestRecord{{RequestKind::kCheckpoint, "", "", {{}}, now_}});
    if ({on('save_forgotten')}) save_pending_ = false;""")], ('Steering',)),
    Fault('stops_not', 'a job that was told to stop begins another round', [
        (GROUP, '  return stop_reason_.has_value() ||', f'  return (stop_reason_.has_value() && !{on("stops_not")}) ||')],
        ('Steering', 'SteeringAndRestarts')),
    Fault('fork_unseen', 'an old copy of the journal was put back, and numbers are used again (rule 2)', [
        ('server/core/job_machine_fork.cc', '  if (!returning.seen) return false;',
         f'  if (!returning.seen || {on("fork_unseen")}) return false;')], ('PutBacks', 'PutBacksAndKills')),
    Fault('partial_skipped', 'a long round goes on a step further than its partials', [
        (GROUP, '  if (partial) message.step = *partials_->step;',
         f'  if (partial) message.step = *partials_->step + ({on("partial_skipped")} ? 1 : 0);')], ('TotalRestarts',)),
    Fault('residual_silent', 'a residual is lost and no event says so (rule 9)', [
        ('server/core/job_machine_residual.cc', '  for (const LostResidual& residual : lost) {',
         f'  if ({on("residual_silent")}) return;\n  for (const LostResidual& residual : lost) {{')], ('Kills',)),
    Fault('odd_keeps_residual', 'the journal keeps the residual of an outvoted result (rule 9)', [
        ('server/core/residuals.cc', '    } else if (contribution.reduced->state_hash != hash) {',
         f'    }} else if (contribution.reduced->state_hash != hash && !{on("odd_keeps_residual")}) {{')],
        ('WrongResults',)),
    Fault('residual_forgotten', 'the journal forgets the residual of who did not report (rule 9)', [
        ('server/core/residuals.cc', '      if (was != open.end()) kept[member.name] = was->second;',
         f'      if (was != open.end() && !{on("residual_forgotten")}) kept[member.name] = was->second;')],
        ('BrokenStreams', 'Kills')),
    Fault('rewind_keeps_residuals', 'a rewind leaves the residuals of the rounds that it undoes (rule 21)', [
        ('server/core/history.cc', """  history.checkpoints.erase(history.checkpoints.upper_bound(record.to_round),
                            history.checkpoints.end());""",
         """  const std::map<std::string, double> residuals = history.committed.residuals;
  history.checkpoints.erase(history.checkpoints.upper_bound(record.to_round),
                            history.checkpoints.end());"""),
        ('server/core/history.cc', '  history.rewound = true;',
         f"""  if ({on('rewind_keeps_residuals')}) history.committed.residuals = residuals;
  history.rewound = true;""")], ('Kills',)),
    Fault('end_counts_no_residuals', 'the end does not count residuals that were not delivered (rule 22)', [
        ('server/core/job_machine_end.cc', '  end.residuals_undelivered = committed_.residuals_lost + committed_.residuals.size();',
         f"""  end.residuals_undelivered = committed_.residuals_lost + committed_.residuals.size();
  if ({on('end_counts_no_residuals')}) end.residuals_undelivered = 0;""")]),
    Fault('residual_handed_over', 'a joiner takes the residual of who gives it the state (rule 9)', [
        ('tests/simulation/sim_worker.cc', '  if (!state_) state_ = meeting.offers.at(command.assemble.giver).base;',
         f"""  if (!state_ && {on('residual_handed_over')}) residual_ = meeting.offers.at(command.assemble.giver).residual;
  if (!state_) state_ = meeting.offers.at(command.assemble.giver).base;""")]),
    Fault('values_keep_residual', 'who missed a commit keeps its residual (rule 9)', [
        ('tests/simulation/sim_worker.cc', '    case worker::StateNeed::kValues:\n      residual_.clear();',
         f'    case worker::StateNeed::kValues:\n      if (!{on("values_keep_residual")}) residual_.clear();')],
        ('Kills', 'BrokenStreams')),
    Fault('residual_twice', 'what was delivered stays in the residual', [
        ('tests/simulation/sim_worker_round.cc', '  residual_ = staged->second.residual;',
         f"""  if ({on('residual_twice')}) residual_.merge(Pieces(staged->second.residual));
  else residual_ = staged->second.residual;""")]),
    Fault('holder_zeroes', 'who holds the state zeroes its residual in silence (rule 9)', [
        ('tests/simulation/sim_worker.cc', '    case worker::StateNeed::kHolds:\n    case worker::StateNeed::kStep:',
         f"""    case worker::StateNeed::kHolds:
      if ({on('holder_zeroes')}) residual_.clear();
      break;
    case worker::StateNeed::kStep:""")]),
    Fault('trials_forgotten', 'a new term does not know what was measured', [
        ('server/core/job_machine_restart.cc', '  if (!ended && !config_.fresh_workers) AwaitJournaledMembers();',
         f'  if ({on("trials_forgotten")}) history_.trials = {{}};\n'
         '  if (!ended && !config_.fresh_workers) AwaitJournaledMembers();')], ('Restarts',)),
    Fault('collective_in_midround', 'a round that goes on changes its collective', [
        ('server/core/continuation.cc', '  next.group = request.group;',
         f"""  next.group = request.group;
  if ({on('collective_in_midround')}) next.collective = Collective::kRing;""")], ('StepRepairs',)),
]
