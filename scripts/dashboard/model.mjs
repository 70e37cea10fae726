// A model that plays what it was told, over the wire of OpenAI's Chat Completions. It refuses whatever it does not expect, and
// remembers that.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'

const KEY = 'sk-scripted', NAME = 'docs-writer-2'
const FIELDS = ['max_completion_tokens', 'max_tokens', 'messages', 'model', 'stream', 'stream_options', 'tools']

/** Something that is kept back until it is let go. */
export class Gate {
  constructor() {
    this.asked = new Promise((resolve) => (this.reached = resolve))
    this.opened = new Promise((resolve) => (this.open = resolve))
  }
}

export class Model {
  scripts = new Map()
  faults = []
  /** Every answer that was asked for: its script and its place in it. */
  asked = []

  async listen() {
    this.server = createServer((request, response) => {
      this.answer(request, response).catch((error) => {
        this.faults.push(error.message)
        response.writeHead(400, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ error: { message: error.message, type: 'invalid_request_error' } }))
      })
    })
    await new Promise((resolve) => this.server.listen(0, '127.0.0.1', resolve))
  }

  /** What makes it the model of a server. */
  settings() {
    return {
      COPYDESK_MODEL__PROVIDER: 'openai',
      COPYDESK_MODEL__NAME: NAME,
      COPYDESK_MODEL__BASE_URL: `http://127.0.0.1:${this.server.address().port}/v1`,
      COPYDESK_MODEL__API_KEY: KEY,
      COPYDESK_MODEL__CONTEXT_TOKENS: '1000000',
      COPYDESK_MODEL__OUTPUT_TOKENS: '200000',
      COPYDESK_MODEL__INPUT_PRICE: '3',
      COPYDESK_MODEL__OUTPUT_PRICE: '15',
    }
  }

  /** A job whose prompt has this phrase gets these answers, in order. An answer has `calls` ([tool, arguments] each), may wait
   * for a `gate`, or is an `error` (status and message). */
  play(phrase, answers) {
    this.scripts.set(phrase, answers)
  }

  async answer(request, response) {
    let text = ''
    for await (const piece of request) text += piece
    assert.equal(`${request.method} ${request.url}`, 'POST /v1/chat/completions')
    assert.equal(request.headers.authorization, `Bearer ${KEY}`)
    const body = JSON.parse(text), { messages } = body
    for (const field of Object.keys(body)) assert(FIELDS.includes(field), `a field ${field}`)
    assert.equal(body.model, NAME)
    assert.equal(body.stream, true)
    assert.deepEqual(body.stream_options, { include_usage: true })
    assert.equal(messages[0].role, 'system')
    const first = messages.filter((it) => it.role === 'user').map((it) => it.content).join('\n')
    const phrases = [...this.scripts.keys()].filter((phrase) => first.includes(phrase))
    assert.equal(phrases.length, 1, `one script fits: ${phrases}`)
    const [phrase] = phrases, script = this.scripts.get(phrase)
    const place = this.heard(phrase, script, messages)
    assert(place < script.length, `${phrase}: an answer too many is asked for`)
    this.asked.push({ phrase, place })
    const { calls = [], gate, error } = script[place]
    for (const [name, input] of calls) fits(body.tools, name, input)
    if (gate) {
      gate.reached()
      await gate.opened
    }
    if (error) {
      response.writeHead(error[0], { 'content-type': 'application/json' })
      response.end(JSON.stringify({ error: { message: error[1], type: 'invalid_request_error' } }))
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const say = (choices, usage = null) => response.write(`data: ${JSON.stringify({ id: `chatcmpl-${place}`, object: 'chat.completion.chunk', model: NAME, choices, usage })}\n\n`)
    const delta = (delta, finish_reason = null) => say([{ index: 0, delta, finish_reason }])
    delta({ role: 'assistant', content: '' })
    calls.forEach(([name, input], index) => delta({ tool_calls: [{ index, id: callId(place, index), type: 'function', function: { name, arguments: JSON.stringify(input) } }] }))
    delta({}, 'tool_calls')
    const said = JSON.stringify(calls).length
    const usage = { prompt_tokens: Math.round(text.length / 4), completion_tokens: Math.round(said / 4) }
    say([], { ...usage, total_tokens: usage.prompt_tokens + usage.completion_tokens })
    response.end('data: [DONE]\n\n')
  }

  /** How many answers the conversation has, which must be those that were given, each call with its result. */
  heard(phrase, script, messages) {
    let place = 0, open = []
    for (const message of messages.slice(1)) {
      if (message.role === 'tool') {
        assert.equal(message.tool_call_id, open.shift(), `${phrase}: results in the order of the calls`)
        continue
      }
      assert.deepEqual(open, [], `${phrase}: every call has its result`)
      if (message.role !== 'assistant') continue
      const given = script[place].calls.map(([name, input]) => [name, JSON.parse(JSON.stringify(input))])
      assert.deepEqual(message.tool_calls.map((call) => [call.function.name, JSON.parse(call.function.arguments)]), given, `${phrase}: answer ${place}`)
      open = message.tool_calls.map((call) => call.id)
      assert.deepEqual(open, given.map((_, index) => callId(place, index)))
      place++
    }
    assert.deepEqual(open, [], `${phrase}: every call has its result`)
    return place
  }

  close() {
    this.server.closeAllConnections()
    this.server.close()
  }
}

/** There is such a tool, and it takes what it is given. */
const fits = (tools, name, input) => {
  const tool = tools.find((tool) => tool.type === 'function' && tool.function.name === name)
  assert(tool, `there is no tool ${name}`)
  const { required, properties } = tool.function.parameters
  for (const field of required) assert(field in input, `${name} needs ${field}`)
  for (const field of Object.keys(input)) assert(field in properties, `${name} has no ${field}`)
}

const callId = (place, index) => `call_${place}_${index}`
