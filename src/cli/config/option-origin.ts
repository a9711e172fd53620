import { OptionError } from '../../base/errors.js'

/** Where an option was set: the flag, the environment variable or the configuration file. */
export type OptionOrigin = (option: string) => string

/** Runs `parse`. An error about an option names where the user set it, and not the function that checks it. */
export function withOrigin<Result>(origin: OptionOrigin, parse: () => Result): Result {
  try {
    return parse()
  } catch (error) {
    throw named(error, origin)
  }
}

/** Like `withOrigin`, for an async `parse`. */
export async function withOriginOfPromise<Result>(
  origin: OptionOrigin,
  parse: () => Promise<Result>,
): Promise<Result> {
  try {
    return await parse()
  } catch (error) {
    throw named(error, origin)
  }
}

function named(error: unknown, origin: OptionOrigin): unknown {
  return error instanceof OptionError ? error.withOwner(origin(error.option)) : error
}
