// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving;

import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** The datatypes of the Open Inference Protocol, by their names there. */
public enum Datatype {
  BOOL(1),
  UINT8(1),
  UINT16(2),
  UINT32(4),
  UINT64(8),
  INT8(1),
  INT16(2),
  INT32(4),
  INT64(8),
  FP16(2),
  BF16(2),
  FP32(4),
  FP64(8),
  /** Elements of any length, each after four bytes with its length. */
  BYTES(0);

  private static final Map<String, Datatype> BY_NAME =
      Arrays.stream(values()).collect(Collectors.toUnmodifiableMap(Enum::name, each -> each));

  private final int size;

  Datatype(int size) {
    this.size = size;
  }

  /** Returns the bytes of an element; 0 for BYTES. */
  public int size() {
    return size;
  }

  /** Returns the datatype of this name; empty if the protocol has none. */
  public static Optional<Datatype> named(String name) {
    return Optional.ofNullable(BY_NAME.get(name));
  }
}
