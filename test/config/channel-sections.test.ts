// Sections of channels whose keys are aliases.
import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readConfigFile } from '../../core/config/file/read.ts'
import { patchConfigFile } from '../../core/config/file/patch.ts'
import { secretValues } from '../../core/config/redaction.ts'
import { resolveConfig } from '../../core/config/resolve.ts'
import { extensions, problemsOf, resolveText, write } from './document.ts'

describe('a section channels.<alias>', () => {
  it('configures the channel, and its secrets are known as secrets', () => {
    const { config, schema } = resolveText(`{ channels: { beeper: { key: 'a-secret-key' } } }`)
    expect(config.channels).toEqual({ pager: { enabled: true, key: 'a-secret-key' } })
    expect(secretValues(config, schema)).toEqual(['a-secret-key'])
  })

  it('is named in problems as it is in the file, with its line', () => {
    expect(problemsOf(`{\n  channels: {\n    beeper: {\n      key: 'x',\n      retrys: 1\n    }\n  }\n}`)).toEqual([
      expect.stringMatching(/^line 4: channels\.beeper\.key /),
      expect.stringMatching(/^line 5: channels\.beeper\.retrys .*retries/),
    ])
    expect(problemsOf('{ channels: { beeper: { key: "${UNSET_VARIABLE}" } } }')).toEqual([
      expect.stringMatching(/^line 1: channels\.beeper\.key .*UNSET_VARIABLE/),
    ])
  })

  it('reads a secret from a file', () => {
    const file = write(`{ channels: { beeper: { key: { file: './key.txt' } } } }`)
    writeFileSync(join(dirname(file), 'key.txt'), 'from-a-file\n', { mode: 0o600 })
    expect(resolveConfig(readConfigFile(file, {}), extensions).config.channels['pager']!['key']).toBe('from-a-file')
  })

  it.each([
    ['beeper', 'pager'],
    ['bleeper', 'beeper'],
  ])('%s is refused beside channels.%s, with one error', (refused, kept) => {
    expect(problemsOf(`{ channels: { ${refused}: { key: 'abcd' }, ${kept}: { key: 'efgh' } } }`)).toEqual([
      `line 1: channels.${refused} is another name of channels.${kept}; keep one of the two sections`,
    ])
  })

  it('stays as it is when an agent changes another key', () => {
    const file = write(`{ channels: { beeper: { key: 'abcd' } }, session: { historyTurns: 5 } }`)
    const changes = { session: { historyTurns: 6 } }
    expect(patchConfigFile({ file, changes, extensions, env: {} })).toEqual(['session.historyTurns'])
    expect(readConfigFile(file, {}).value['channels']).toEqual({ beeper: { key: 'abcd' } })
  })
})
