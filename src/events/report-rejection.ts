/** Reports the rejection of what an async function of the application returned. An unhandled rejection would end the process. */
export async function reportRejection(returned: unknown, report: (error: unknown) => void): Promise<void> {
  try {
    await returned
  } catch (error) {
    report(error)
  }
}
