import { connection } from '../support/connection.js'
import { itWhere } from '../support/it-where.js'
import { until } from '../support/until.js'
import { configModule, deliver } from './configured.js'
import { countersignProcess, Sandbox } from './program.js'

const sandbox = new Sandbox()
afterEach(() => sandbox.clean())

const OPEN_FILES = 200
const itOnLinux = itWhere(process.platform === 'linux', 'Linux')

itOnLinux('idle connections do not use up the descriptors of a process that may open few files', async () => {
  const cwd = await sandbox.directory({ 'countersign.config.mjs': configModule('') })
  const serve = sandbox.serve([], { cwd, openFiles: OPEN_FILES })
  const warned = await serve.line(({ code }) => code === 'WARN_FEW_OPEN_FILES')
  expect(warned).toMatchObject({ level: 'warn', maxConnections: 136, openFiles: OPEN_FILES })
  expect(warned.msg).toContain('maxConnections is 1000, and this process may open 200 files: it accepts 136')

  const port = await serve.port()
  const idle = await Promise.all(Array.from({ length: OPEN_FILES }, () => connection(port)))
  expect((await deliver(port)).status).toBe(200)
  await until(() => idle.filter(({ socket }) => socket.closed).length > OPEN_FILES - 136)
  expect(serve.lines.filter(({ code }) => code === 'WARN_FEW_OPEN_FILES')).toHaveLength(1)
})

itOnLinux('serve --check says how many connections the limit of open files allows', async () => {
  const check = async (maxConnections: number) => {
    const config = configModule('', `port: 0, maxConnections: ${maxConnections}`)
    const cwd = await sandbox.directory({ 'countersign.config.mjs': config })
    const { stdout } = await countersignProcess(['serve', '--check', '--json'], { cwd, openFiles: 1_024 })
    const { limits, warnings } = JSON.parse(stdout)
    return [limits.maxConnections, warnings.map(({ code }: { code: string }) => code)]
  }
  expect(await check(897)).toEqual([896, ['WARN_FEW_OPEN_FILES']])
  expect(await check(896)).toEqual([896, []])
})
