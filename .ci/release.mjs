// Releases the version of package.json: a tag, a draft of a release on GitHub with the tarball and an SBOM, and the tarball staged at
// npm, where a maintainer approves it. The workflow release.yml runs it. Each step can be repeated, except the last one.
//
//   npm run release -- --dry-run    checks, packs, and says what it would do
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } })
const isDry = values['dry-run']
const json = (path) => JSON.parse(readFileSync(path, 'utf8'))
const manifest = json('package.json')
const lock = json('package-lock.json')
const { name, version } = manifest
const tag = `v${version}`
const isPrerelease = version.includes('-')
const notes = sectionOf(readFileSync('CHANGELOG.md', 'utf8'), version)

const problems = problemsOfRelease()
for (const problem of problems) console.error(`problem: ${problem}`)
if (problems.length > 0 && !isDry) process.exit(1)

const folder = mkdtempSync(join(tmpdir(), 'countersign-release-'))
try {
  release()
} finally {
  rmSync(folder, { recursive: true, force: true })
}
if (isDry) console.log(`dry run: nothing was published, ${problems.length} problems`)
process.exitCode = problems.length > 0 ? 1 : 0

function problemsOfRelease() {
  const found = []
  if (lock.version !== version || lock.packages[''].version !== version)
    found.push(`package-lock.json has version ${lock.version}, not ${version}: run "npm install".`)
  if (notes === undefined) found.push(`CHANGELOG.md does not begin with the heading "## ${version}".`)
  else if (notes === '') found.push(`CHANGELOG.md says nothing under "## ${version}".`)
  // npm refuses provenance whose repository is not that of the package.
  const repository = manifest.repository?.url ?? manifest.repository
  const { GITHUB_REPOSITORY } = process.env
  if (!repository) {
    const cure = `run "npm pkg set repository=github:${GITHUB_REPOSITORY ?? 'OWNER/NAME'}" and commit it.`
    found.push(`package.json has no repository, which provenance needs: ${cure}`)
  } else if (GITHUB_REPOSITORY && !new RegExp(`[/:]${GITHUB_REPOSITORY}(?:\\.git)?$`, 'i').test(repository)) {
    found.push(`package.json has the repository ${repository}, but this is ${GITHUB_REPOSITORY}.`)
  }
  const changed = read('git', 'status', '--porcelain')
  if (changed !== '') found.push(`the work tree has changes that are not committed:\n${changed}`)
  const tagged = commitOfTag()
  if (tagged && tagged !== read('git', 'rev-parse', 'HEAD'))
    found.push(`${tag} is the tag of ${tagged}: choose another version.`)
  return found
}

function release() {
  run('npm', 'pack', '--loglevel=error', '--pack-destination', folder)
  const tarball = join(folder, `${name}-${version}.tgz`)
  const sbom = join(folder, `${name}-${version}.cdx.json`)
  writeFileSync(sbom, billOfMaterials())
  const notesFile = join(folder, 'notes.md')
  writeFileSync(notesFile, notes ?? '')
  console.log(`SBOM: ${json(sbom).components.length} packages`)

  if (!commitOfTag()) publish('git', 'tag', tag)
  publish('git', 'push', 'origin', `refs/tags/${tag}`)
  // A draft, until npm has the version as well.
  if (!isDry && hasRelease()) publish('gh', 'release', 'upload', tag, tarball, sbom, '--clobber')
  else {
    const kind = isPrerelease ? ['--prerelease'] : []
    const text = ['--title', tag, '--notes-file', notesFile, '--verify-tag', '--draft']
    publish('gh', 'release', 'create', tag, tarball, sbom, ...text, ...kind)
  }
  // With trusted publishing npm adds the provenance.
  publish('npm', 'stage', 'publish', tarball, '--tag', isPrerelease ? 'next' : 'latest')
  console.log(`${isDry ? 'would be next' : 'next'}: npm stage list ${name}`)
  console.log('    npm stage approve <stage-id>')
  console.log(`    gh release edit ${tag} --draft=false`)
}

/**
 * The packages that a user installs, in the versions that were tested. `npm sbom --omit dev` leaves out what a development dependency
 * needs as well. So it is given a lock file without the packages that only development and peers need.
 */
function billOfMaterials() {
  const { devDependencies: _, peerDependencies: __, peerDependenciesMeta: ___, ...production } = manifest
  const isInstalled = ([, { dev, peer, devOptional }]) => !dev && !peer && !devOptional
  const packages = Object.fromEntries(Object.entries(lock.packages).filter(isInstalled))
  const { devDependencies: ____, peerDependencies: _____, ...rootPackage } = lock.packages['']
  // The SBOM has the name of the folder.
  const project = join(folder, name)
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), JSON.stringify(production))
  const pruned = { ...lock, packages: { ...packages, '': rootPackage } }
  writeFileSync(join(project, 'package-lock.json'), JSON.stringify(pruned))
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--loglevel=error']
  return execFileSync('npm', args, { cwd: project, encoding: 'utf8' })
}

/** What the changelog says of a version, if that is its first section. */
function sectionOf(changelog, wanted) {
  const [, heading, text] = /^## (\S+).*\n([^]*?)(?=^## |(?![^]))/m.exec(changelog) ?? []
  return heading === wanted ? text.trim() : undefined
}

function commitOfTag() {
  try {
    return read('git', 'rev-parse', '--verify', '--quiet', `refs/tags/${tag}^{commit}`)
  } catch {
    return undefined
  }
}

function hasRelease() {
  try {
    return read('gh', 'release', 'view', tag) !== ''
  } catch {
    return false
  }
}

/** A command that others see the effect of. */
function publish(...command) {
  if (isDry) console.log(`would run: ${command.join(' ').replaceAll(`${folder}/`, '')}`)
  else run(...command)
}

function run(program, ...args) {
  execFileSync(program, args, { stdio: ['ignore', 'inherit', 'inherit'] })
}

function read(program, ...args) {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}
