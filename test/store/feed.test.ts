// Feeds: subscribing, publishing and unsubscribing.
import { expect, it } from 'vitest'
import { createFeed } from '../../core/store/commits/commits.ts'

it('publishes to the current subscribers only', () => {
  const feed = createFeed<string>()
  const received: string[] = []
  feed.publish('too early')
  const unsubscribe = feed.subscribe((item) => received.push(`a ${item}`))
  const unsubscribeToo = feed.subscribe((item) => received.push(`b ${item}`))
  feed.publish('one')
  unsubscribe()
  feed.publish('two')
  expect(feed.hasSubscribers()).toBe(true)
  unsubscribeToo()
  unsubscribeToo()
  feed.publish('too late')
  expect(received).toEqual(['a one', 'b one', 'b two'])
  expect(feed.hasSubscribers()).toBe(false)
})

it('lets a function subscribe twice and unsubscribe during a publication', () => {
  const feed = createFeed<string>()
  const received: string[] = []
  const subscriber = (item: string) => void received.push(item)
  const unsubscribe = feed.subscribe(subscriber)
  feed.subscribe(() => unsubscribe())
  feed.subscribe(subscriber)
  feed.publish('one')
  feed.publish('two')
  expect(received).toEqual(['one', 'one', 'two'])
})
