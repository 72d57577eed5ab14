// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation.wire;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemoryHandle;
import io.thalamus.model.wire.Decoder;
import io.thalamus.model.wire.Encoder;
import io.thalamus.model.wire.WireFormatException;
import java.nio.file.Path;

/** Handles of shared memory as bytes. Stateless. */
public final class MemoryCodec {
  private MemoryCodec() {}

  /** Writes a handle. */
  public static void write(Encoder out, SharedMemoryHandle handle) {
    out.constant(handle.kind())
        .text(handle.file().toString())
        .int64(handle.offset())
        .int64(handle.size())
        .bool(handle.writable());
  }

  /** Reads a handle. The named memory need not exist. */
  public static SharedMemoryHandle handle(Decoder in) throws WireFormatException {
    return new SharedMemoryHandle(
        in.constant(MemoryKind.values()), Path.of(in.text()), in.int64(), in.int64(), in.bool());
  }
}
