/** `it` where the machine allows the test. Elsewhere the test is skipped, and a line says why. */
export function itWhere(possible: boolean, needs: string) {
  return (name: string, test: () => Promise<void>, timeoutMs?: number): void => {
    if (possible) return it(name, test, timeoutMs)
    process.stderr.write(`skipped, as it needs ${needs}: ${name}\n`)
    it.skip(`${name} (needs ${needs})`, test)
  }
}
