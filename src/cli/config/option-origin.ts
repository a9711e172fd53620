import { OptionError } from '../../base/errors.js'

/** Where an option was set: the flag, the environment variable or the configuration file. */
export type OptionOrigin = (option: string) => string

/** Runs `parse`. An error about an option names where the user set it, and not the function that checks it. */
export async function withOrigin<Result>(
  origin: OptionOrigin,
  parse: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await parse()
  } catch (error) {
    throw error instanceof OptionError ? error.withOwner(origin(error.option)) : error
  }
}
