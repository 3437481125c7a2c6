// Gives a running gateway another configuration, which costs less than to start another gateway.
import { expect } from 'vitest'
import { type Document, type RunningGateway, writeConfig } from './helpers.ts'

/** Merges the sections one level deep over the base document, and applies all of them. */
export async function reconfigure({ gateway, dir }: RunningGateway, changes: Document): Promise<void> {
  writeConfig(dir, changes)
  expect(await gateway.reload()).toEqual({ restartFor: [] })
}
