// Says what a message holds that is neither a text nor a file: the agent must know that something came.
import { line, words } from 'svc-gateway/kit'

interface Place {
  name?: unknown
  address?: unknown
  latitude?: unknown
  longitude?: unknown
}

export function describePlace({ name, address, latitude, longitude }: Place): string {
  const named = [shortOf(name), shortOf(address)].filter(Boolean).join(', ')
  return words(`Location: ${named}`.trim(), `(${Number(latitude)}, ${Number(longitude)})`)
}

export interface Card {
  name?: unknown
  phones: readonly unknown[]
}

export const describeCards = (cards: readonly Card[]): string =>
  cards
    .slice(0, mostCards)
    .map(({ name, phones }) => `Contact: ${[name, ...phones].map(shortOf).filter(Boolean).join(', ')}`)
    .join('\n')

const mostCards = 20

const shortOf = (value: unknown): string => (typeof value === 'string' ? line(value) : '')

/** @param kind as the platform calls it */
export const unreadable = (kind: string): string =>
  `[A message of the type "${line(kind.replaceAll(/[^A-Za-z0-9_ ]/g, ''), 40)}" came, which the gateway cannot read.]`
