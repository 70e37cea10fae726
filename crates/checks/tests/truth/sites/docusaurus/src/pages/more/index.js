import React from 'react'

export default function More() {
  return <main>More</main>
}
