// The program of a child process: locks itself down, then runs transforms one after another for the gateway, which is
// connected to descriptor 3.
// oxlint-disable-next-line import/no-unassigned-import -- it defines lockdown, harden and Compartment
import 'ses'
import { Buffer } from 'node:buffer'
import { writeSync } from 'node:fs'
import { Socket } from 'node:net'
import { setImmediate } from 'node:timers'
import { createRequestHandler } from './request-handler.ts'
import { createFrameReader, type Frame, outcomes, requestKinds, writeFrame } from '../ipc-frames.ts'
import { createPositionFinder } from './stack-positions.ts'
import { lockDown, type SharedGlobals } from './lockdown.ts'

const activeRequestId = Buffer.alloc(4)
const gateway = new Socket({ fd: 3, readable: true, writable: true })
// An error that a transform leaves unhandled must not end the process.
process.on('uncaughtException', () => undefined)
process.on('unhandledRejection', () => undefined)
listen(lockDown())

function listen(shared: SharedGlobals): void {
  let responses: Frame[] = []
  const { begin, conclude } = createRequestHandler({
    shared,
    positionsOf: createPositionFinder(),
    respond: (response) => responses.push(response),
  })

  /** One write for several responses: a write for each would cost twice as much CPU time in the child. */
  function flush(): void {
    gateway.cork()
    for (const response of responses) writeFrame(response, send)
    gateway.uncork()
    responses = []
  }

  /**
   * Each request begins in a macrotask of its own and is concluded in a later one, so that its microtasks count towards
   * its own time limit and log.
   */
  function executeFrame(frame: Frame): void {
    conclude()
    if (responses.length >= maxUnsent) flush()
    recordActiveRequest(frame.id)
    begin({
      id: frame.id,
      kind: requestKinds[frame.kind],
      moduleId: frame.number,
      first: frame.first.toString(),
      second: frame.second.toString(),
    })
  }

  const read = createFrameReader(Infinity, (frame) => setImmediate(executeFrame, frame))
  gateway.on('data', (chunk) => {
    read(chunk)
    setImmediate(() => {
      conclude()
      flush()
    })
  })
  // When the gateway closes the connection, the process has nothing left to do and exits.
  gateway.on('error', () => undefined)
  gateway.on('end', () => gateway.destroy())
  writeFrame(
    { id: 0, kind: outcomes.indexOf('ready'), number: 0, first: Buffer.alloc(0), second: Buffer.alloc(0) },
    send,
  )
}

const maxUnsent = 16

function send(part: Buffer): void {
  gateway.write(part)
}

/** Writes to the active request file at descriptor 4, which the gateway reads when this process stops responding. */
function recordActiveRequest(id: number): void {
  activeRequestId.writeUInt32LE(id)
  writeSync(4, activeRequestId, 0, 4, 0)
}
