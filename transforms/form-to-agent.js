// A contact form: support goes to one agent, sales to another, and what smells of spam nowhere. Plain JavaScript works as well.
import { plainText } from './text/plain-text.js'

const teams = { billing: 'support', bug: 'support', pricing: 'sales' }

export default ({ payload, now }) => {
  const text = plainText(payload.message ?? '')
  if (text === '' || /\b(?:casino|crypto airdrop)\b/i.test(text)) return null
  const topic = String(payload.topic ?? '').toLowerCase()
  return {
    name: `Contact form: ${topic || 'other'}`,
    agentId: teams[topic],
    message: `${plainText(payload.name ?? 'Somebody')} <${plainText(payload.email ?? 'no address')}> wrote on ${now.slice(0, 10)}:\n\n${text}\n\nDraft a reply.`,
  }
}
