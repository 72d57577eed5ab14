// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.burst.QueueBurstService;
import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.Device;
import io.thalamus.tck.certify.Certification;
import io.thalamus.tck.certify.Exceptions;
import io.thalamus.tck.junit.DeviceKit;
import java.lang.Thread.UncaughtExceptionHandler;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Order;

@Order(1)
class CpuPairTest extends DeviceKit {
  private static final List<String> ENDED = new CopyOnWriteArrayList<>();

  private static UncaughtExceptionHandler handler;

  @BeforeAll
  static void watchThreads() {
    handler = Thread.getDefaultUncaughtExceptionHandler();
    Thread.setDefaultUncaughtExceptionHandler(
        (thread, thrown) -> ENDED.add(thread.getName() + ": " + thrown));
  }

  /** Faulty clients and devices end no thread of the pair, which others wait for. */
  @AfterAll
  static void noThreadOfThePairHasEnded() {
    Thread.setDefaultUncaughtExceptionHandler(handler);
    assertEquals(List.of(), ENDED.stream().filter(line -> line.startsWith("pair-")).toList());
  }

  @Override
  protected Device newDevice() throws Exception {
    return cpu();
  }

  @Override
  protected Certification certification(Device device) {
    return super.certification(device)
        .with(
            Exceptions.NONE.andNever(
                "deadlines/the timeout of a loop by the kit's clock",
                "loops go by the clock of the process that computes"));
  }

  static Pair cpu() throws Exception {
    QueueBurstService bursts = new QueueBurstService();
    CpuDevice cpu = new CpuDevice("1.0.0", bursts::serve);
    return Pair.of(
        cpu,
        () -> {
          bursts.close();
          cpu.close();
        });
  }
}
