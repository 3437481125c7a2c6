// What runs inside a child: it shuts itself in, then runs transforms, one after another, for the gateway at the other
// end of descriptor 3.
// oxlint-disable-next-line import/no-unassigned-import -- it brings lockdown, harden and Compartment
import 'ses'
import { Buffer } from 'node:buffer'
import { writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { setImmediate } from 'node:timers'
import { createRequestHandler } from './runner/request-handler.ts'
import { createFrameReader, type Frame, outcomes, requestKinds, writeFrame } from './ipc-frames.ts'
import { createPositionFinder } from './runner/stack-positions.ts'
import { lockDown, type SharedGlobals } from './runner/lockdown.ts'

const box = Buffer.alloc(4)
const gateway = new Socket({ fd: 3, readable: true, writable: true })
// What a transform leaves unhandled is its own affair; the process goes on.
process.on('uncaughtException', () => undefined)
process.on('unhandledRejection', () => undefined)
listen(lockDown())

function listen(shared: SharedGlobals): void {
  let answers: Frame[] = []
  const { begin, conclude } = createRequestHandler({
    shared,
    positionOf: createPositionFinder(),
    answer: (answer) => answers.push(answer),
  })

  function flush(): void {
    gateway.cork()
    for (const answer of answers) writeFrame(answer, send)
    gateway.uncork()
    answers = []
  }

  /**
   * Each request has a macrotask of its own, and is answered in a later one: whatever it left to be done at once has
   * been done by then, in its own time and under its own name.
   */
  function step(frame: Frame): void {
    conclude()
    if (answers.length >= 16) flush()
    recordActiveRequest(frame.id)
    begin({
      id: frame.id,
      kind: requestKinds[frame.kind],
      number: frame.number,
      first: frame.first.toString(),
      second: frame.second.toString(),
    })
  }

  const read = createFrameReader(Infinity, (frame) => setImmediate(step, frame))
  gateway.on('data', (chunk) => {
    read(chunk)
    setImmediate(() => {
      conclude()
      flush()
    })
  })
  // Without the gateway there is nothing left to do: the process ends by itself.
  gateway.on('error', () => undefined)
  gateway.on('end', () => gateway.destroy())
  writeFrame(
    { id: 0, kind: outcomes.indexOf('ready'), number: 0, first: Buffer.alloc(0), second: Buffer.alloc(0) },
    send,
  )
}

function send(part: Buffer): void {
  gateway.write(part)
}

/** The black box at descriptor 4: who is at work, for the gateway to read when nobody here can answer any more. */
function recordActiveRequest(id: number): void {
  box.writeUInt32LE(id)
  writeSync(4, box, 0, 4, 0)
}
