// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.npu.machine.Architecture;
import org.junit.jupiter.api.Test;

class NpuConfigTest {
  @Test
  void hardwareThatCannotBeIsRefusedInWords() {
    Architecture all = NpuConfig.standard().architecture();
    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                new Architecture(
                    all.array(), all.lanes(), 0, all.accumulators(), all.dram(), 1, 0));
    assertTrue(refusal.getMessage().contains("scratchpad"), refusal.getMessage());
  }
}
