import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDirectory } from '../support/sqlite-file.js'

const RELEASE = join(__dirname, '../../.ci/release.mjs')
const PACKAGE = {
  name: 'released',
  version: '1.2.0',
  repository: 'github:somebody/released',
  dependencies: { used: '1.0.0' },
  devDependencies: { tool: '1.0.0' },
}
// `shared` is needed by the package and by its tests.
const LOCK = {
  name: 'released',
  version: '1.2.0',
  lockfileVersion: 3,
  requires: true,
  packages: {
    '': PACKAGE,
    'node_modules/used': { version: '1.0.0', dependencies: { shared: '1.0.0' } },
    'node_modules/shared': { version: '1.0.0' },
    'node_modules/tool': { version: '1.0.0', dev: true, dependencies: { shared: '1.0.0' } },
  },
}
const CHANGELOG = '# Changelog\n\n## 1.2.0\n\n- Something.\n\n## 1.1.0\n\n- Earlier.\n'

let folder: string
beforeEach(() => {
  folder = temporaryDirectory()
  write('package.json', PACKAGE)
  write('package-lock.json', LOCK)
  write('CHANGELOG.md', CHANGELOG)
  git('init', '--quiet')
  commit()
})

function write(name: string, content: object | string) {
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
}

function git(...args: string[]) {
  const identity = ['-c', 'user.name=test', '-c', 'user.email=test@example.com']
  execFileSync('git', [...identity, ...args], { cwd: folder })
}

function commit() {
  git('add', '--all')
  git('commit', '--quiet', '--allow-empty', '--message', 'all')
}

function released(...args: string[]) {
  // That of the run that tests this.
  const { GITHUB_REPOSITORY: _, ...env } = process.env
  const options = { cwd: folder, env, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [RELEASE, ...args], options)
  const problems = stderr.split('\n').filter((line) => line.startsWith('problem: '))
  return { status, stdout, problems }
}

describe('a dry release', () => {
  it('says what a release does, and changes nothing', () => {
    const { status, stdout, problems } = released('--dry-run')
    expect({ status, problems }).toEqual({ status: 0, problems: [] })
    expect(stdout.match(/^would run: .*$/gm)).toEqual([
      'would run: git tag v1.2.0',
      'would run: git push origin refs/tags/v1.2.0',
      'would run: gh release create v1.2.0 released-1.2.0.tgz released-1.2.0.cdx.json --title v1.2.0 --notes-file notes.md --verify-tag --draft',
      'would run: npm stage publish released-1.2.0.tgz --tag latest',
    ])
    expect(execFileSync('git', ['tag'], { cwd: folder, encoding: 'utf8' })).toBe('')
  })

  it('counts in the SBOM what a user installs, also what a development dependency needs as well', () => {
    expect(released('--dry-run').stdout).toContain('SBOM: 2 packages')
  })

  it('gives a version before a release the tag next', () => {
    const version = '1.2.0-rc.1'
    write('package.json', { ...PACKAGE, version })
    write('package-lock.json', {
      ...LOCK,
      version,
      packages: { ...LOCK.packages, '': { ...PACKAGE, version } },
    })
    write('CHANGELOG.md', CHANGELOG.replace('1.2.0', version))
    commit()
    expect(released('--dry-run').stdout).toMatch(/--prerelease\n.*released-1\.2\.0-rc\.1\.tgz --tag next/)
  })
})

describe('a release is refused', () => {
  const CASES: [string, () => void, string][] = [
    ['the changelog begins with another version', () => write('CHANGELOG.md', '## 1.1.0\n'), 'CHANGELOG.md'],
    [
      'the changelog says nothing',
      () => write('CHANGELOG.md', '## 1.2.0\n\n## 1.1.0\n- a\n'),
      'CHANGELOG.md',
    ],
    [
      'the lock file has another version',
      () => write('package-lock.json', { ...LOCK, version: '1.1.0' }),
      'lock',
    ],
    [
      'there is no repository',
      () => write('package.json', { ...PACKAGE, repository: undefined }),
      'repository',
    ],
  ]
  it.each(CASES)('if %s', (_, change, named) => {
    change()
    commit()
    const { status, stdout, problems } = released()
    expect(problems).toEqual([expect.stringContaining(named)])
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  })

  it('if something is not committed', () => {
    write('CHANGELOG.md', `${readFileSync(join(folder, 'CHANGELOG.md'), 'utf8')}\n`)
    expect(released()).toMatchObject({ status: 1, problems: [expect.stringContaining('not committed')] })
  })

  it('if its tag is that of another commit', () => {
    git('tag', 'v1.2.0')
    commit()
    expect(released()).toMatchObject({ status: 1, problems: [expect.stringContaining('v1.2.0')] })
  })
})
