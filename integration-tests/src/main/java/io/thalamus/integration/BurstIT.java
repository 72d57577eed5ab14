// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.burst.BurstClient;
import io.thalamus.burst.BurstService;
import io.thalamus.burst.BurstSettings;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Timing;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.FrameworkUtil;
import org.osgi.framework.ServiceReference;

/** The bursts of a bundle end with it, and those of others go on. */
public class BurstIT {
  private static final long PATIENCE = TimeUnit.SECONDS.toNanos(30);

  private final BundleContext context = FrameworkUtil.getBundle(BurstIT.class).getBundleContext();

  /** A model that has nothing to do. */
  private static final class Idle implements PreparedModel {
    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      return new Completed(List.of(), Timing.NONE);
    }

    @Override
    public void close() {
      // It holds nothing.
    }
  }

  private static Set<Thread> threads() {
    Set<Thread> threads = new HashSet<>(Thread.getAllStackTraces().keySet());
    threads.removeIf(thread -> !thread.getName().startsWith("burst-"));
    return threads;
  }

  @Test
  @Timeout(120)
  void theBurstsOfABundleEndWithIt() throws Exception {
    Bundle other =
        context.installBundle(
            "test:bursts",
            BundleFile.of("none", Map.of(Constants.BUNDLE_SYMBOLICNAME, "test.bursts")));
    ServiceReference<BurstService> reference = context.getServiceReference(BurstService.class);
    try (SharedMemory memory = SharedMemory.allocate(MemoryKind.ASHMEM, 64)) {
      other.start();
      BurstService own = context.getService(reference);
      BurstService its = other.getBundleContext().getService(reference);
      assertNotSame(own, its);
      try (BurstClient ownClient = own.open(new Idle(), BurstSettings.DEFAULT)) {
        assertEquals(ErrorStatus.NONE, execute(ownClient, memory));
        Set<Thread> before = threads();
        BurstClient client = its.open(new Idle(), BurstSettings.DEFAULT);
        assertEquals(ErrorStatus.NONE, execute(client, memory));
        assertTrue(threads().size() > before.size());
        other.stop();
        assertTrue(client.isBroken());
        assertFalse(client.send(request(memory), ExecutionConfig.DEFAULT));
        assertEquals(before, threads(), "its threads have ended");
        assertEquals(ErrorStatus.NONE, execute(ownClient, memory));
      }
    } finally {
      context.ungetService(reference);
      other.uninstall();
    }
  }

  private static Request request(SharedMemory memory) {
    return new Request(List.of(), List.of(), List.of(new MemoryPool.Shared(memory)));
  }

  private static ErrorStatus execute(BurstClient client, SharedMemory memory) {
    assertTrue(client.send(request(memory), ExecutionConfig.DEFAULT));
    return client.receive(PATIENCE).status();
  }
}
