import { examine, type Examination, type ExamineOptions } from '../../src/diagnosis/doctor/examine.js'
import { SECRET, subscription } from '../support/subscription.js'

/**
 * For an upload that is cut before the pause is over, which ends the pause. A busy machine may notice the end of a short pause
 * before that of the time limit.
 */
export const LONG_PAUSE_MS = 9_000

/** For a body that is forwarded piece by piece: half of it may not pass on a busy machine before the receiver reads the first piece. */
export const CLEAR_PAUSE_MS = 2_000

/** Examines a port of this machine with the secret of the running receiver. */
export async function examined(port: number, options: Partial<ExamineOptions> = {}): Promise<Examination> {
  return examine({
    url: new URL(`http://127.0.0.1:${port}/hooks/transfers`),
    secrets: [SECRET],
    eventTypeName: subscription.eventTypeName,
    timeoutMs: 10_000,
    pauseMs: 200,
    ...options,
  })
}

/** The names of the problems. */
export function problems({ findings }: Examination): string[] {
  return findings.filter(({ severity }) => severity === 'problem').map(({ name }) => name)
}

export function notes({ findings }: Examination): string[] {
  return findings.filter(({ severity }) => severity === 'note').map(({ name }) => name)
}

/** What was seen for a finding. */
export function seen({ findings }: Examination, name: string): string | undefined {
  return findings.find((finding) => finding.name === name)?.seen
}
