// Loaded first in each program that a benchmark starts: a benchmark that is killed would otherwise leave servers behind, which take
// the processor time of the next one.
process.once('disconnect', () => process.exit())
