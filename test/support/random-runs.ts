/**
 * How many random cases a property is tried with: all with RANDOM_RUNS=all, as in continuous integration, and a quarter of them
 * otherwise. Each run of the tests tries other cases.
 */
export function randomRuns(all: number): number {
  return process.env['RANDOM_RUNS'] === 'all' ? all : Math.ceil(all / 4)
}
