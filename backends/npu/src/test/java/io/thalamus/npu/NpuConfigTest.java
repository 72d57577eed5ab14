// SPDX-License-Identifier: Apache-2.0
package io.thalamus.npu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.ExecutionPreference;
import io.thalamus.npu.machine.Architecture;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;

class NpuConfigTest {
  /** The defaults stand at the settings, where people see them, and once more in code. */
  @Test
  void whatIsNotConfiguredIsTheDefault() {
    NpuSettings unset =
        (NpuSettings)
            Proxy.newProxyInstance(
                NpuSettings.class.getClassLoader(),
                new Class<?>[] {NpuSettings.class},
                (proxy, method, arguments) -> method.getDefaultValue());
    NpuConfig config = NpuConfig.of(unset);
    assertEquals(NpuConfig.DEFAULT.architecture(), config.architecture());
    assertEquals(NpuConfig.DEFAULT.searchBudget(), config.searchBudget());
    assertEquals(NpuConfig.DEFAULT.searchFirst(), config.searchFirst());
    assertEquals(NpuConfig.DEFAULT.seed(), config.seed());
    assertEquals(NpuConfig.DEFAULT.bufferBytes(), config.bufferBytes());
    assertEquals(NpuConfig.DEFAULT.link(), config.link());
    for (ExecutionPreference preference : ExecutionPreference.values()) {
      assertEquals(
          NpuConfig.DEFAULT.points().choose(preference), config.points().choose(preference));
    }
  }

  @Test
  void hardwareThatCannotBeIsRefusedInWords() {
    Architecture all = NpuConfig.DEFAULT.architecture();
    IllegalArgumentException refusal =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                new Architecture(
                    all.array(), all.lanes(), 0, all.accumulators(), all.dram(), 1, 0));
    assertTrue(refusal.getMessage().contains("scratchpad"), refusal.getMessage());
  }
}
