// The tests of every Node version in one line, from Jest's own reports: N passed, N failed. A test may be skipped only because it
// is for another version of Node.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOR_A_VERSION = /\(needs .*\bNode\.js \d+\)$/

const folder = process.argv[2]
let passed = 0
let failed = 0
let skipped = 0
for (const name of readdirSync(folder)) {
  const report = JSON.parse(readFileSync(join(folder, name), 'utf8'))
  passed += report.numPassedTests
  // A test file that cannot even be loaded has failed, though it counts no test.
  failed += report.numFailedTests + report.numRuntimeErrorTestSuites
  console.log(
    `${name.replace('.json', '')}: ${report.numPassedTests} of ${report.numTotalTests} tests passed`,
  )
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults)
  for (const { status, fullName } of tests) {
    if (status !== 'pending' && status !== 'todo') continue
    console.log(`  skipped: ${fullName}`)
    if (!FOR_A_VERSION.test(fullName)) skipped++
  }
}
if (skipped > 0) console.log(`${skipped} skipped although they are for this version of Node`)
console.log(`${passed} passed, ${failed} failed`)
process.exitCode = passed > 0 && failed === 0 && skipped === 0 ? 0 : 1
