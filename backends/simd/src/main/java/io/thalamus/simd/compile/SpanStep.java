// SPDX-License-Identifier: Apache-2.0
package io.thalamus.simd.compile;

import io.thalamus.simd.program.Span;
import io.thalamus.simd.program.Step;

/** A step of single elements: a tile is a range of a span. */
interface SpanStep extends Step {
  /** Returns the elements. */
  Span span();

  @Override
  default int tiles() {
    return span().tiles();
  }
}
