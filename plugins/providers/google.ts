// Google's Gemini models, over the Gemini API.
import { defineHostedProvider, fieldsOf, listOf, textOf } from 'svc-gateway/kit'

export default defineHostedProvider({
  name: 'google',
  description: 'Gemini models of Google.',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
  keyVariable: 'GOOGLE_GENERATIVE_AI_API_KEY',
  service: {
    title: 'Google Gemini',
    keyVariables: ['GEMINI_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY'],
    model: 'gemini-2.5-flash',
    traceName: 'gcp.gemini',
  },
  load: async () => (await import('@ai-sdk/google')).createGoogle,
  list: {
    path: 'models?pageSize=1000',
    headers: (key) => ({ 'x-goog-api-key': key }),
    readIds: (body) =>
      listOf(fieldsOf(body)['models']).flatMap((model) => {
        const name = textOf(fieldsOf(model)['name'])
        return name === undefined ? [] : [name, name.replace(/^models\//, '')]
      }),
    // An invalid key is answered with 400, as other faults of a request.
    refusesKey: (status, body) =>
      status === 401 ||
      status === 403 ||
      listOf(fieldsOf(fieldsOf(body)['error'])['details']).some(
        (detail) => fieldsOf(detail)['reason'] === 'API_KEY_INVALID',
      ),
  },
})
