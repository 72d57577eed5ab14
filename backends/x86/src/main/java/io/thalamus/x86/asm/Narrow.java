// SPDX-License-Identifier: Apache-2.0
package io.thalamus.x86.asm;

import io.thalamus.x86.asm.Encoding.Kind;

/** Instructions that store the lower bits of each element of a vector: AVX-512. */
public enum Narrow {
  /** 32 bits to 8. */
  VPMOVDB(Encoding.of(2, 2, 0x31).with(Kind.EVEX).with(Tuple.QUARTER)),
  /** 16 bits to 8: AVX512BW. */
  VPMOVWB(Encoding.of(2, 2, 0x30).with(Kind.EVEX).with(Tuple.HALF));

  private final Encoding encoding;

  Narrow(Encoding encoding) {
    this.encoding = encoding;
  }

  Encoding encoding() {
    return encoding;
  }
}
