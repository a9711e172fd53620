import { CountersignError } from '../../base/errors.js'
import { complain, EXIT, DEPENDENCY_FAILURES, printJson, type ExitCode, type Io } from '../io.js'
import { widthOf } from '../table.js'
import { summarize, type Summary } from './check-summary.js'
import type { ServeFlags } from './config-values.js'
import { readableSummary } from './readable-summary.js'
import { loadSettings } from './settings.js'

interface CheckFlags extends ServeFlags {
  /** Whether warnings are failures. */
  readonly strict?: true
  readonly json?: true
}

/** `serve --check`: checks everything that `serve` needs, and prints the result. */
export async function checkConfig(flags: CheckFlags, io: Io): Promise<ExitCode> {
  let summary: Summary
  try {
    summary = await summarize(await loadSettings(flags, io), flags.strict ?? false)
  } catch (error) {
    if (!flags.json || !(error instanceof CountersignError)) throw error
    printJson(io, { valid: false, code: error.code, message: error.message })
    return EXIT.usage
  }
  const { valid, problems } = summary
  if (flags.json) printJson(io, { ...summary, ...problems[0] })
  else if (problems.length === 0) io.stdout.write(readableSummary(summary, widthOf(io.stdout)))
  else for (const { message } of problems) complain(io, message)
  if (valid) return EXIT.done
  // The same exit code as that of `serve`.
  const isOutside = problems.length > 0 && problems.every(({ code }) => DEPENDENCY_FAILURES.has(code))
  return isOutside ? EXIT.failed : EXIT.usage
}
