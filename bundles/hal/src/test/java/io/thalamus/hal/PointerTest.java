// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.hal.Request.Pointer;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.channels.FileChannel;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PointerTest {
  @TempDir Path folder;

  @Test
  void whatNobodyCanCloseIsSteady() {
    MemorySegment segment = Arena.ofAuto().allocate(256, 64);
    assertTrue(Pointer.isSteady(segment));
    assertTrue(Pointer.isSteady(segment.asSlice(64).asReadOnly()));
  }

  @Test
  @SuppressWarnings("restricted")
  void whatCanBeClosedOrCutShortIsNot() throws Exception {
    try (Arena shared = Arena.ofShared();
        Arena confined = Arena.ofConfined()) {
      assertFalse(Pointer.isSteady(shared.allocate(64)));
      assertFalse(Pointer.isSteady(confined.allocate(64)));
      MemorySegment fixed = Arena.ofAuto().allocate(64);
      assertFalse(Pointer.isSteady(fixed.reinterpret(shared, null)));
    }
    Path file = Files.write(folder.resolve("file"), new byte[64]);
    try (FileChannel channel = FileChannel.open(file)) {
      assertFalse(Pointer.isSteady(channel.map(MapMode.READ_ONLY, 0, 64, Arena.ofAuto())));
    }
  }
}
