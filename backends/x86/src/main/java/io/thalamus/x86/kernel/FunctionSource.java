// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.kernel;

/** The parameters of a function: an {@link Emitter} writes a function once for equal ones. */
public interface FunctionSource {
  /** Writes the code and ends it with {@link Emitter#end}, whose result this returns. */
  Function write(Emitter emitter);

  /** Returns the function, which is written where the emitter does not have it yet. */
  default Function emit(Emitter emitter) {
    return emitter.function(this);
  }
}
