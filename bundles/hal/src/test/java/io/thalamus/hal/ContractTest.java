// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The driver interface stays small, and grows only by what old drivers need not know. */
class ContractTest {
  @Test
  void aDriverMustImplementThreeMethodsOfDeviceAndTwoOfPreparedModel() {
    assertEquals(List.of("info", "prepare", "supportedOperations"), abstractMethods(Device.class));
    assertEquals(List.of("close", "execute"), abstractMethods(PreparedModel.class));
    assertEquals(5, Device.class.getMethods().length);
    assertEquals(7, PreparedModel.class.getMethods().length);
  }

  private static List<String> abstractMethods(Class<?> contract) {
    return Arrays.stream(contract.getMethods())
        .filter(method -> Modifier.isAbstract(method.getModifiers()))
        .map(Method::getName)
        .sorted()
        .toList();
  }

  @ParameterizedTest
  @ValueSource(
      classes = {
        Device.class,
        PreparedModel.class,
        DeviceBuffer.class,
        BurstContext.class,
        BurstCallback.class
      })
  void noMethodTakesMoreThanFourArguments(Class<?> contract) {
    for (Method method : contract.getMethods()) {
      assertTrue(method.getParameterCount() <= 4, method.toString());
    }
  }

  @Test
  void loopTimeoutsAreCutAtTheMaximum() {
    ExecutionConfig config = ExecutionConfig.DEFAULT.withLoopTimeout(Duration.ofMinutes(1));
    assertEquals(Duration.ofSeconds(15), config.loopTimeout());
    assertEquals(Duration.ofSeconds(2), ExecutionConfig.DEFAULT.loopTimeout());
  }

  @Test
  void aFailureCannotClaimSuccess() {
    assertThrows(
        IllegalArgumentException.class,
        () -> new ExecutionResult.Failed(ErrorStatus.NONE, "nothing"));
  }

  @Test
  void theWaitForAFenceEndsAtTheDeadlineByItsClock() {
    AtomicLong now = new AtomicLong();
    ExecutionControl control =
        () -> {
          // Asked now and then by who waits.
          now.addAndGet(Duration.ofMinutes(1).toNanos());
          return ExecutionControl.Signal.CONTINUE;
        };
    ExecutionConfig config =
        ExecutionConfig.DEFAULT.with(Deadline.after(Duration.ofMinutes(5), now::get)).with(control);
    DeviceException missed =
        assertThrows(
            DeviceException.class, () -> SyncFence.await(List.of(new SyncFence()), config));
    assertEquals(ErrorStatus.MISSED_DEADLINE_TRANSIENT, missed.status());
    DeviceException cancelled =
        assertThrows(
            DeviceException.class,
            () ->
                SyncFence.await(
                    List.of(new SyncFence()),
                    ExecutionConfig.DEFAULT.with(() -> ExecutionControl.Signal.CANCELLED)));
    assertEquals(ErrorStatus.GENERAL_FAILURE, cancelled.status());
  }

  @Test
  void aFenceSignalsOnceAndCannotBeSignalledThroughItsFuture() {
    SyncFence fence = new SyncFence();
    fence.future().complete(null);
    assertEquals(false, fence.isDone());
    fence.signal();
    fence.fail(new DeviceException(ErrorStatus.GENERAL_FAILURE, "late"));
    fence.future().join();
  }
}
