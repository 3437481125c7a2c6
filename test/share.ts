// Starts what all tests of a block use together, and closes what tests have started.
import { AsyncLocalStorage } from 'node:async_hooks'
import { afterAll, beforeAll, onTestFinished } from 'vitest'

const block = new AsyncLocalStorage<AsyncDisposableStack>()

/**
 * Starts something once for all tests of a block, which must not depend on each other. Returns a function for the
 * tests to get it.
 */
export function share<Started>(start: () => Promise<Started>): () => Started {
  const opened = new AsyncDisposableStack()
  let started: Started
  beforeAll(async () => {
    started = await block.run(opened, start)
  })
  afterAll(() => opened.disposeAsync())
  return () => started
}

/** Closes something at the end of the test, or of the block if `share` starts it. The last one is closed first. */
export function closeAtEnd(close: () => unknown): void {
  const opened = block.getStore()
  if (opened) opened.defer(async () => void (await close()))
  else onTestFinished(async () => void (await close()))
}
