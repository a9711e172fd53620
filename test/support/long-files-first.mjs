import TestSequencer from '@jest/test-sequencer'

/** They start servers or processes, which takes longer than the size of a file lets Jest expect. */
const STARTS_PROGRAMS =
  /\.system\.test\.ts$|\/test\/(bullmq|cli|crash|idempotency\/redis|inbox\/postgres|worker)\//

/**
 * Jest begins with the files that took longest the last time. In a new clone it begins with the largest ones, and one of
 * the longest was the last: the other worker had nothing to do meanwhile.
 */
export default class LongFilesFirst extends TestSequencer {
  sort(tests) {
    const sorted = super.sort(tests)
    if (sorted.some(({ duration }) => duration !== undefined)) return sorted
    const startsPrograms = ({ path }) => STARTS_PROGRAMS.test(path)
    return [...sorted.filter(startsPrograms), ...sorted.filter((test) => !startsPrograms(test))]
  }
}
