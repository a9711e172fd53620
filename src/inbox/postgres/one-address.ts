import { invalidOption } from '../../base/option-checks.js'

/**
 * Refuses a connection string that leaves to libpq which of several servers is the primary. The driver is not libpq: it would look
 * up the list as one name, or ignore the parameter and connect to a standby. The error does not contain the text.
 * @throws CountersignError ERR_OPTION_INVALID
 */
export function refuseSeveralHosts(connectionString: string, owner: string, option: string): void {
  if (!/^postgres(?:ql)?:/i.test(connectionString)) return
  const shown = hasSeveralHosts(connectionString) ? 'a URL with several hosts' : parameterOf(connectionString)
  if (shown !== undefined) throw invalidOption(owner, option, connectionString, CURE, shown)
}

const CURE =
  'this is not supported. Name one address that leads to the primary also after a failover, such as that of HAProxy or PgBouncer, ' +
  'a virtual IP address or a DNS name'

const HOST = '(?:\\[[^\\]]*\\]|[^,:[\\]]*)(?::\\d*)?'
const HOSTS = new RegExp(`^${HOST}(?:,${HOST})+$`)

function hasSeveralHosts(connectionString: string): boolean {
  const authority = /^[^:]*:\/\/([^/?#]*)/.exec(connectionString)?.[1] ?? ''
  const query = queryOf(connectionString)
  return (
    HOSTS.test(authority.slice(authority.lastIndexOf('@') + 1)) ||
    ['host', 'hostaddr', 'port'].some((name) => query.getAll(name).join().includes(','))
  )
}

function parameterOf(connectionString: string): string | undefined {
  const query = queryOf(connectionString)
  const name = ['target_session_attrs', 'load_balance_hosts'].find((each) => query.has(each))
  return name && `a URL with ${name}`
}

function queryOf(connectionString: string): URLSearchParams {
  return new URLSearchParams(/\?([^#]*)/.exec(connectionString)?.[1])
}
