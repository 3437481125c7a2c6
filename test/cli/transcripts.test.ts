// Checks the transcripts of docs/cli.md: runs their commands on a gateway and compares what they print.
import { expect, it } from 'vitest'
import { share } from '../share.ts'
import { page, startTranscripts } from './transcript-gateway.ts'

interface Transcript {
  command: string
  output: string
}

/** The commands of the blocks without a language, with what they print. */
const transcripts = [...page.matchAll(/^```\n(\$ svc-gateway [^]*?)^```$/gm)].flatMap(([, block = '']) =>
  block.split(/^\$ svc-gateway /m).flatMap((part): Transcript[] => {
    const [command = '', ...output] = part.trimEnd().split('\n')
    return command === '' ? [] : [{ command, output: output.join('\n') }]
  }),
)

/** What starts work comes last, so that lists are as short as on the page: first `tail`, while nothing else runs. */
const late = [/^tail /, /^(replay|trigger|chat) /]
const rank = ({ command }: Transcript) => late.findIndex((pattern) => pattern.test(command))

/** These show the machine, a dialog, Google's answers, npm's work. Their own tests compare them. */
const checked = transcripts
  .filter(({ command }) => !/^(doctor|setup|gmail setup|plugin add|plugin check --test)\b/.test(command))
  .toSorted((one, other) => rank(one) - rank(other))

/** Ids, times, codes and markers differ each time, and so does how the program is called. */
const normalize = (text: string) =>
  text
    .replaceAll('npm start -- ', 'svc-gateway ')
    .replaceAll(/\([\d.]+ ms\)/g, '(TIME)')
    .replaceAll(/(?<= {2}|after )\d[\d.]* m?s */g, 'TIME ')
    .replaceAll(/^delivery +/gm, 'delivery  ')
    // How many rows a store has depends on what the gateway does meanwhile.
    .replaceAll(/^([a-z_]+ +|Would copy )\d+(?= rows|$)/gm, '$1COUNT')
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-7[\da-f-]{21}/g, 'ID')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/^[\w-]{43}$/gm, 'TOKEN')
    .replaceAll(/TEXT [\da-f]{24}>/g, 'TEXT ID>')
    .replaceAll(/(?<=^pending {2})[A-HJ-NP-Z2-9]{8}/gm, 'CODE')
    .trimEnd()

const shared = share(startTranscripts)

it('finds the transcripts', () => expect(checked.length).toBeGreaterThan(30))

it.each(checked)('$command', async ({ command, output }) => {
  const { stdout, stderr } = await shared()(command, { lines: output.split('\n').length })
  // A terminal shows both, in an order that this test does not see.
  const linesOf = (text: string) => normalize(text).split('\n')
  if (stdout === '' || stderr === '') expect(linesOf(stdout + stderr)).toEqual(linesOf(output))
  else expect(linesOf(stdout + stderr).toSorted()).toEqual(linesOf(output).toSorted())
})
