// Checks the project's rules for imports, file contents and file names. Each violation is reported as one sentence.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'

interface Source {
  path: string
  text: string
  /** The text without comments. */
  code: string
  /** The imported modules, as written. */
  imports: readonly string[]
}

type Sample = [path: string, text: string]

interface Rule {
  name: string
  /** Files that break the rule. They test the rule itself. */
  broken: readonly Sample[]
  /** Returns what is wrong with a file, or undefined when it follows the rule. */
  check(file: Source, files: readonly Source[]): string | undefined
}

const floors: Record<string, number> = {
  'main.ts': 19,
  cli: 18,
  'gateway.ts': 17,
  runtime: 16,
  'services.ts': 15,
  'findings.ts': 15,
  hooks: 14,
  control: 14,
  schedules: 13,
  runs: 12,
  agents: 11,
  approvals: 11,
  tools: 10,
  delivery: 10,
  sandbox: 10,
  budgets: 9,
  sessions: 9,
  store: 8,
  loader: 8,
  http: 7,
  config: 7,
  'tool-failure.ts': 7,
  'transform.ts': 7,
  kit: 6,
  'reconnect.ts': 5,
  telemetry: 5,
  'outage.ts': 4,
  plugin: 3,
  'action.ts': 2,
  'deadline.ts': 1,
  'serial-queue.ts': 1,
  'under-way.ts': 1,
  'field-schemas.ts': 1,
  'typed-code.ts': 1,
  'errors.ts': 1,
  'well-formed.ts': 1,
  'json.ts': 1,
  'version.ts': 1,
  'typebox.ts': 0,
}

const rules: readonly Rule[] = [
  {
    name: 'imports inside core go only to lower floors',
    broken: [
      ['core/http/a.ts', `// A.\nimport { x } from '../store/store.ts'`],
      ['core/store/a.ts', `// A.\nexport * from '../loader/registry.ts'`],
      ['core/attic/a.ts', '// A.'],
    ],
    check(file) {
      if (!inCore(file)) return undefined
      if (floorOf(file.path) === undefined) return `has no floor: add ${folderOf(file.path)} to the table in this test`
      const up = relativeTargets(file).find(
        (target) => folderOf(target) !== folderOf(file.path) && !isBelow(target, file.path),
      )
      return up && `imports ${up}, which is not on a lower floor`
    },
  },
  {
    name: 'imports form no circles',
    broken: [
      ['core/store/a.ts', `// A.\nimport './a.ts'`],
      ['core/store/a.ts', `// A.\nimport type { A } from './a.ts'`],
    ],
    check(file, files) {
      const cycle = findCycle(file, files)
      return cycle && `imports itself through ${cycle.join(' → ')}`
    },
  },
  {
    name: 'channels, plugins and transforms import only what is exported for them',
    broken: [
      ['channels/a.ts', `// A.\nimport { x } from '../core/errors.ts'`],
      ['plugins/tools/a.ts', `// A.\nimport { x } from './b.ts'`],
      ['channels/a.ts', `// A.\nimport { x } from 'svc-gateway/testing'`],
      ['transforms/a.ts', `// A.\nimport { x } from 'svc-gateway/plugin'`],
    ],
    check(file) {
      if (!isExtension(file.path)) return undefined
      const outside = file.imports.find((name) =>
        name.startsWith('.')
          ? !sharesFolder(file, name)
          : name.startsWith('svc-gateway/') && !contractsOf(file.path).includes(name),
      )
      return (
        outside &&
        `imports ${outside}; it may import only ${contractsOf(file.path).join(', ')}, Node, packages and its own folder`
      )
    },
  },
  {
    name: 'core does not import extensions',
    broken: [['core/gateway.ts', `// A.\nimport { x } from '../channels/console.ts'`]],
    check: (file) => {
      const extension = inCore(file) && relativeTargets(file).find((target) => !target.startsWith('core/'))
      return extension ? `imports ${extension}; the loader must find extensions` : undefined
    },
  },
  {
    name: 'the core names no service whose webhooks it accepts',
    broken: [
      ['core/hooks/a.ts', `// A.\nconst isTimed = scheme === 'twilio'`],
      ['core/config/rules/a.ts', `// A.\nconst names = ['stripe']`],
    ],
    check(file) {
      if (!/^core\/(hooks|config|loader|cli\/trigger)\//.test(file.path)) return undefined
      const named = listServices().find((name) => file.code.includes(`'${name}'`))
      return named && `names ${named}; what the core must know of a service belongs to its preset or scheme`
    },
  },
  {
    name: 'the core names no service that has models',
    broken: [['core/cli/a.ts', `// A.\nconst kinds = ['anthropic']`]],
    check(file) {
      const named = inCore(file) && listProviders().find((name) => file.code.includes(`'${name}'`))
      return named ? `names ${named}; what the core must know of a service belongs to its provider` : undefined
    },
  },
  onlyIn('TypeBox', /^(typebox|@sinclair\/typebox)(\/|$)/, /^core\/typebox\.ts$/),
  onlyIn('SQL engines', /^(node:sqlite|pg)$/, /^core\/store\//),
  onlyIn(
    'Fastify',
    /^(fastify|fastify-plugin|@fastify\/.*)$/,
    /^core\/(http\/|runtime\/|gateway\.ts$|.*\/(routes|mapped-routes|handshake-routes|route-context|incoming-request|mcp|socket)\.ts$)/,
  ),
  {
    name: 'nothing loads node:http at the start',
    broken: [['channels/a.ts', `// A.\nimport { Agent } from 'node:http'`]],
    check: (file) =>
      !isTest(file.path) && /^import (?!type).*'node:https?'/m.test(file.code)
        ? 'imports node:http, which also loads its fetch and WebSocket clients; import it when it is needed'
        : undefined,
  },
  {
    name: 'only the store contains SQL',
    broken: [['core/agents/a.ts', "// A.\nconst sql = 'SELECT id FROM runs'"]],
    check: (file) =>
      inCore(file) &&
      !file.path.startsWith('core/store/') &&
      /['"`]\s*(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|BEGIN|COMMIT)\b/.test(file.code)
        ? 'contains SQL; only core/store/ may'
        : undefined,
  },
  {
    name: 'only one file resolves real paths',
    broken: [['core/hooks/a.ts', "// A.\nimport { realpath } from 'node:fs/promises'"]],
    check: (file) =>
      inCore(file) && !file.path.startsWith('core/config/') && /\brealpath/.test(file.code)
        ? 'resolves real paths; use core/config/file/paths.ts'
        : undefined,
  },
  {
    name: 'modules have no state',
    broken: [
      ['core/http/a.ts', '// A.\nlet count = 0'],
      ['core/http/a.ts', '// A.\nexport const cache = new Map<string, string>()'],
      ['channels/a.ts', '// A.\nconst seen: string[] = []'],
      ['core/http/a.ts', '// A.\nexport const isKnown = memoize(look)'],
      ['core/http/a.ts', '// A.\nconst queue = createQueue()'],
    ],
    check: (file) => {
      if (isTest(file.path)) return undefined
      // Code that runs inside a sandbox process, or builds, has no caller who could create its state.
      if (/^core\/sandbox\/runner\.ts$|^\.ci\//.test(file.path)) return undefined
      const variable = /^(?:export )?(?:let|var) \w+/m
      const container =
        /^(?:export )?const \w+[^=\n]*= (?:new (?:Map|Set|WeakMap|WeakSet|Array)\b.*\(\)|\[\]|\{\})(?: as .*)?$/m
      const made = /^(?:export )?const \w+[^=\n]*= (?:await )?(?:memoize|lazily|once|create[A-Z]\w*)\(/m
      const state = variable.exec(file.code) ?? container.exec(file.code) ?? made.exec(file.code)
      return state ? `has module state: ${state[0]}; create it in a function` : undefined
    },
  },
  {
    name: 'types are explicit and erasable',
    broken: [
      ['core/http/a.ts', '// A.\nconst a: any = 1'],
      ['core/http/a.ts', '// A.\nexport enum A { B }'],
      ['core/http/a.ts', '// A.\nexport class Service {}'],
      ['core/http/a.ts', '// A.\nexport default 5'],
    ],
    check: (file) => {
      if (isTest(file.path)) return undefined
      if (/(?::|<|\||,|\bas)\s*any\b(?![\w-])(?=[\s,;)>\]|=[]|$)/m.test(withoutStrings(file.code)))
        return 'uses `any`; use the real type or `unknown`'
      if (/^(?:export )?(?:const )?enum \w/m.test(file.code)) return 'has an enum; use a union of strings'
      if (/^(?:export )?(?:declare )?namespace \w/m.test(file.code)) return 'has a namespace'
      // Preact asks a class whether to draw a component again.
      if (/^(?:export )?class \w+/m.test(file.code.replaceAll(/class \w+ extends (?:\w*Error\b|Component<)/g, '')))
        return 'has a class that is not an error; use a create function'
      return !isExtension(file.path) &&
        !/config\.ts$|^\.ci\/|^plugins\/templates\//.test(file.path) &&
        /^export default /m.test(file.code)
        ? 'has a default export; only extensions have one'
        : undefined
    },
  },
  {
    name: 'there are no open tasks, skipped tests or test branches',
    broken: [
      ['core/http/a.ts', '// A.\n// TODO: more'],
      ['core/http/a.ts', '// A.\nif (process.env.VITEST) {}'],
      ['test/a.test.ts', "// A.\nit.skip('x')"],
    ],
    check: (file) => {
      const left = /\b(?:TODO|FIXME|XXX)\b|VITEST|NODE_ENV|\b(?:it|test|describe)\.(?:skip|only|todo)\b/.exec(file.text)
      return left ? `contains "${left[0]}"` : undefined
    },
  },
  {
    name: 'the first line describes the file',
    broken: [
      ['core/http/a.ts', `import 'node:fs'`],
      ['core/http/a.ts', '// helpers'],
    ],
    check: (file) => {
      const header = /^(?:#!.*\n)?((?:\/\/ (?!oxlint-).*\n)+)/.exec(`${file.text}\n`)?.[1]
      return header && /\p{Lu}.*[.!?:]$/su.test(header.trim())
        ? undefined
        : 'does not begin with a comment of one sentence that describes the file'
    },
  },
  {
    name: 'files have meaningful names',
    broken: [
      ['core/http/Utils.ts', '// A.'],
      ['core/http/helpers.ts', '// A.'],
      ['plugins/tools/index.ts', '// A.'],
    ],
    check: ({ path }) => {
      const name = basename(path).replace(/(\.(test|config|(long|postgres)\.config))?\.tsx?$/, '')
      if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) return 'is not named in kebab-case'
      const forbidden = [
        'utils',
        'util',
        'common',
        'shared',
        'misc',
        'manager',
        'service',
        'impl',
        'types',
        ...(inCore({ path }) ? ['helpers', 'helper'] : []),
      ]
      if (forbidden.includes(name)) return `is called "${name}", which describes nothing`
      return name === 'index' &&
        !/^(channels\/[^/]+|plugins\/[^/]+\/[^/]+|plugins\/templates\/\w+\/src)\/index\.ts$/.test(path)
        ? 'is called index; only plugin folders and templates may have one'
        : undefined
    },
  },
  {
    name: 'relative imports include the file extension',
    broken: [
      ['core/http/a.ts', `// A.\nimport { x } from './b'`],
      ['core/http/a.ts', `// A.\nimport { x } from './b.js'`],
    ],
    check: (file) => {
      if (isTest(file.path)) return undefined
      const vague = file.imports.find((name) => name.startsWith('.') && !/\.tsx?$/.test(name))
      return vague && `imports ${vague}; write the file name with .ts`
    },
  },
]

/** Creates a rule for packages that only some files of core may import. Extensions may have packages of their own. */
function onlyIn(what: string, names: RegExp, allowed: RegExp): Rule {
  const name = ['typebox', 'pg', 'fastify'].find((candidate) => names.test(candidate))
  return {
    name: `only some files import ${what}`,
    broken: [['core/agents/a.ts', `// A.\nimport type { X } from '${name}'`]],
    check(file) {
      const found = inCore(file) && !allowed.test(file.path) && file.imports.find((candidate) => names.test(candidate))
      return found ? `imports ${found}, which only ${allowed.source} may` : undefined
    },
  }
}

const root = fileURLToPath(new URL('..', import.meta.url))

/** The presets, and the schemes that are not generic. */
const listServices = (): string[] =>
  ['presets', 'schemes']
    .flatMap((folder) => readdirSync(join(root, 'plugins', folder)))
    .map((entry) => entry.replace(/\.ts$/, ''))
    .filter((name) => name !== 'token' && name !== 'hmac')
/** The providers, without those that are no service. */
const listProviders = (): string[] =>
  readdirSync(join(root, 'plugins/providers'))
    .map((entry) => entry.replace(/\.ts$/, ''))
    .filter((name) => name !== 'builtin' && name !== 'openai-compatible')
/** It quotes what it forbids, so it is not checked. */
const thisFile = 'test/house.test.ts'
const sources = repositoryFiles()
  .filter((path) => /\.tsx?$/.test(path) && !path.startsWith('test/fixtures/') && path !== thisFile)
  .map((path) => sourceOf(path, readFileSync(join(root, path), 'utf8')))

describe('the project', () => {
  it.each(rules)('$name', ({ check }) => {
    expect(sources.length).toBeGreaterThan(0)
    expect(sources.flatMap((file) => sentence(file, check(file, sources)))).toEqual([])
  })

  it.each(rules)('reports a violation: $name', ({ check, broken }) => {
    for (const [path, text] of broken) {
      const file = sourceOf(path, text)
      expect(check(file, [file]), `${path}: ${text.slice(0, 80)}`).toEqual(expect.any(String))
    }
  })

  it('contains no local paths and no references to internal pages', () => {
    const strange = /\/(?:work|root)\/|\bR\d+\.\d+\b|\.\.\/shared\b/
    const texts = repositoryFiles().filter(
      (path) => /\.(?:[cm]?[jt]s|json5?|md|ya?ml)$|^\.ci\//.test(path) && path !== thisFile,
    )
    expect(texts.filter((path) => strange.test(readFileSync(join(root, path), 'utf8')))).toEqual([])
  })
})

/** Returns every file that is tracked or would be. */
function repositoryFiles(): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  })
  return listed.split('\n').filter((path) => path !== '' && existsSync(join(root, path)))
}

function sourceOf(path: string, text: string): Source {
  const code = text.replace(/^\s*(\/\/|\/\*\*?|\*).*$/gm, '')
  return {
    path,
    text,
    code,
    imports: importsOf(code),
  }
}

function importsOf(code: string): string[] {
  return [...code.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^'\n]+)'/g)].map(([, name]) => name ?? '')
}

const sentence = ({ path }: Source, fault: string | undefined) => (fault ? [`${path} ${fault}.`] : [])
const inCore = ({ path }: Pick<Source, 'path'>) => path.startsWith('core/')
const contractsOf = (path: string) => {
  if (isTest(path)) return ['svc-gateway/testing']
  return /^(plugins\/templates\/transform|transforms)\//.test(path)
    ? ['svc-gateway/transform']
    : ['svc-gateway/plugin', 'svc-gateway/kit']
}
/** The plugins in plugins/templates have tests, too. */
const isTest = (path: string) => path.startsWith('test/') || /^plugins\/templates\/.*\/test\//.test(path)
const isExtension = (path: string) => /^(channels|plugins|transforms)\//.test(path)
const withoutStrings = (code: string) => code.replace(/'[^'\n]*'|`[^`]*`|\/[^/\n]+\/[a-z]*\.(?:test|exec)/g, "''")

/** Returns the folder in core, or the name of a file that is directly in core. */
const folderOf = (path: string) => path.split('/')[1] ?? ''
const floorOf = (path: string) => (path.startsWith('core/') ? floors[folderOf(path)] : undefined)
const isBelow = (target: string, path: string) => (floorOf(target) ?? Infinity) < (floorOf(path) ?? 0)
const relativeTargets = ({ path, imports }: Pick<Source, 'path' | 'imports'>) =>
  imports.filter((name) => name.startsWith('.')).map((name) => normalize(join(dirname(path), name)))

/** An extension that is a folder may import its own files. One that is a single file has none. */
function sharesFolder(file: Source, name: string): boolean {
  // The page is one extension with a folder for each view.
  const depth = file.path.startsWith('plugins/') && !file.path.startsWith('plugins/page/') ? 3 : 2
  const folder = file.path.split('/').slice(0, depth).join('/')
  return !folder.endsWith('.ts') && normalize(join(dirname(file.path), name)).startsWith(`${folder}/`)
}

/** Finds a path from a file's imports back to the file. */
function findCycle(start: Source, files: readonly Source[]): string[] | undefined {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const seen = new Set<string>()
  const search = (source: Source): string[] | undefined => {
    for (const target of relativeTargets(source)) {
      if (target === start.path) return [target]
      const next = byPath.get(target)
      if (!next || seen.has(target)) continue
      seen.add(target)
      const rest = search(next)
      if (rest) return [target, ...rest]
    }
    return undefined
  }
  return search(start)
}
