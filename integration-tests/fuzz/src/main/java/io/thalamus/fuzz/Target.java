// SPDX-License-Identifier: Apache-2.0
package io.thalamus.fuzz;

import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Model;
import io.thalamus.model.ModelDigest;
import io.thalamus.model.reader.Companions;
import io.thalamus.model.reader.ModelFormatException;
import io.thalamus.model.reader.ModelReader;
import io.thalamus.model.reader.ReadOptions;
import java.lang.foreign.MemorySegment;

/** The promise that each reader gives of any bytes: a model, or one line that says why not. */
final class Target {
  /** The content of the file beside a model, under any name: zeros, and never freed. */
  static final SharedMemory BESIDE = SharedMemory.allocate(MemoryKind.ASHMEM, 1 << 16);

  private static final Companions COMPANIONS = name -> BESIDE;

  private Target() {}

  /** Reads a file, and everything that the model refers to. Anything thrown is a finding. */
  static void read(ModelReader reader, byte[] bytes, ReadOptions options) {
    if (bytes.length == 0) {
      return;
    }
    try (SharedMemory file = SharedMemory.allocate(MemoryKind.ASHMEM, bytes.length)) {
      file.segment().copyFrom(MemorySegment.ofArray(bytes));
      MemorySegment head = file.segment().asSlice(0, Math.min(64, file.size()));
      reader.accepts("model", head);
      Model model = reader.read(file, options, COMPANIONS).model();
      ModelDigest.fingerprint(model);
    } catch (ModelFormatException e) {
      if (e.getMessage().isBlank() || e.getMessage().lines().count() != 1) {
        throw new AssertionError("not one line: " + e.getMessage(), e);
      }
    }
  }
}
