// SPDX-License-Identifier: Apache-2.0
package io.thalamus.driver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.thalamus.burst.BurstClient;
import io.thalamus.burst.BurstExecutor;
import io.thalamus.burst.BurstService;
import io.thalamus.burst.BurstSettings;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.ErrorStatus;
import java.lang.reflect.Proxy;
import org.junit.jupiter.api.Test;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceReference;

/** The use of the service of bursts by a device's bundle. */
class BurstSourceTest {
  private boolean isRegistered;
  private boolean isStopped;
  private boolean isFull;
  private int uses;
  private int served;

  private final BurstSource source = BurstSource.of(context());

  private BundleContext context() {
    ServiceReference<?> reference = proxy(ServiceReference.class, (_, _) -> null);
    return proxy(
        BundleContext.class,
        (name, _) -> {
          if (isStopped) {
            throw new IllegalStateException("the context is no longer valid");
          }
          return switch (name) {
            case "getServiceReference" -> isRegistered ? reference : null;
            case "getService" -> {
              uses++;
              yield new Service();
            }
            case "ungetService" -> {
              uses--;
              yield true;
            }
            default -> throw new AssertionError(name);
          };
        });
  }

  private interface Call {
    Object answer(String name, Object[] arguments);
  }

  private static <T> T proxy(Class<T> type, Call call) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (_, method, arguments) -> call.answer(method.getName(), arguments)));
  }

  private final class Service implements BurstService {
    @Override
    public BurstContext serve(BurstConfig config, PreparedModel model) {
      throw new AssertionError("the driver keeps memories");
    }

    @Override
    public BurstContext serve(BurstConfig config, BurstExecutor executor) throws DeviceException {
      if (isFull) {
        throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "no room for one more");
      }
      served++;
      return new BurstContext() {
        @Override
        public void freeMemory(int slot) {}

        @Override
        public void close() {
          served--;
        }
      };
    }

    @Override
    public BurstClient open(PreparedModel model, BurstSettings settings) {
      throw new AssertionError("a device opens no bursts");
    }
  }

  private void assertRefused(ErrorStatus status) {
    DeviceException refused = assertThrows(DeviceException.class, () -> source.serve(null, null));
    assertEquals(status, refused.status());
    assertEquals(0, uses);
  }

  @Test
  void theServiceIsUsedAsLongAsABurstIsOpen() throws DeviceException {
    assertRefused(ErrorStatus.GENERAL_FAILURE);
    isRegistered = true;
    BurstContext first = source.serve(null, null);
    BurstContext second = source.serve(null, null);
    assertEquals(2, uses);
    first.close();
    first.close();
    assertEquals(1, uses);
    assertEquals(1, served);
    second.close();
    assertEquals(0, uses);
    assertEquals(0, served);
    isFull = true;
    assertRefused(ErrorStatus.GENERAL_FAILURE);
    isRegistered = false;
    assertRefused(ErrorStatus.GENERAL_FAILURE);
  }

  @Test
  void aBundleThatHasBeenStoppedUsesNothing() throws DeviceException {
    isRegistered = true;
    BurstContext burst = source.serve(null, null);
    isStopped = true;
    uses = 0; // as the framework leaves it
    burst.close();
    assertEquals(0, served);
    assertRefused(ErrorStatus.DEVICE_UNAVAILABLE);
  }
}
