import { startProgram, untilPrinted } from './built-program.js'

const run = (statements: string) => startProgram(process.execPath, ['-e', statements])

it('a wait for a program that has failed rejects at once, with its complaint', async () => {
  const program = run('console.error("no database"); process.exitCode = 1')
  await expect(untilPrinted([program], () => program.lines.length > 0, 3_600_000)).rejects.toThrow(
    'the program ended with 1: no database',
  )
})

it('a wait that ends too late has what the program wrote', async () => {
  const program = run('console.log("started"); console.error("waiting for a lock"); process.stdin.resume()')
  await untilPrinted([program], () => program.lines.length === 1 && program.complaints() !== '')
  await expect(untilPrinted([program], () => program.lines.length === 2, 1)).rejects.toThrow(
    /did not come true\. The programs wrote:\nstarted\nwaiting for a lock\n/,
  )
  program.child.stdin.end()
  await program.ended
})

it('a program whose end nobody waits for fails no test', async () => {
  const rejections: unknown[] = []
  const onRejection = (error: unknown) => rejections.push(error)
  process.on('unhandledRejection', onRejection)
  try {
    const { child } = run('process.exitCode = 1')
    await new Promise((resolve) => child.once('close', resolve))
    await new Promise((resolve) => setImmediate(resolve))
    expect(rejections).toEqual([])
  } finally {
    process.off('unhandledRejection', onRejection)
  }
})
