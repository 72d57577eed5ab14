// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.bundles;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.thalamus.hal.Device;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleException;
import org.osgi.service.log.LogEntry;

/** What is said of bundles of devices that do not work. */
class FaultyBundlesTest {
  private static final String LOOK = "scr:list shows which component waits for what";

  /** What Felix's log makes of an exception. */
  private static final class StandIn extends Exception {
    private static final long serialVersionUID = 1L;

    private final String text;

    StandIn(Throwable original) {
      super(original.getCause() == null ? null : new StandIn(original.getCause()));
      text = "org.apache.felix.log.LogException: " + original;
    }

    @Override
    public String toString() {
      return text;
    }
  }

  @SuppressWarnings("unchecked") // of the given type
  private static <T> T fake(Class<T> type, Map<String, ?> answers) {
    return (T)
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> answers.get(method.getName()));
  }

  private static String line(Throwable thrown) {
    Bundle bundle = fake(Bundle.class, Map.of("getSymbolicName", "abacus"));
    Map<String, Object> entry =
        thrown == null
            ? Map.of("getBundle", bundle, "getMessage", "it failed\nhere")
            : Map.of("getBundle", bundle, "getMessage", "it failed\nhere", "getException", thrown);
    return LogLines.line(fake(LogEntry.class, entry));
  }

  @Test
  void aLineOfTheLogSaysWhatADeviceHasThrown() {
    assertEquals("abacus: it failed", line(null));
    Exception thrown = new IllegalStateException("no card in the slot");
    String why = "abacus: it failed: java.lang.IllegalStateException: no card in the slot";
    assertEquals(why, line(thrown));
    assertEquals(why, line(new StandIn(thrown)));
    Exception around = new BundleException("stopped", new InvocationTargetException(thrown));
    assertEquals(why, line(around));
    assertEquals(why, line(new StandIn(around)));
    Exception meaning = new IllegalStateException("the card is broken", thrown);
    assertEquals(
        "abacus: it failed: java.lang.IllegalStateException: the card is broken",
        line(new StandIn(meaning)));
  }

  @Test
  void aDeviceThatDoesNotComeLacksSomething() {
    Dictionary<String, String> none = new Hashtable<>();
    assertEquals(
        "no component makes it: annotate its class with @Component(service = Device.class)",
        DeviceTracker.missing(fake(Bundle.class, Map.of("getHeaders", none))));
    Dictionary<String, String> headers = new Hashtable<>(Map.of("Service-Component", "a.xml"));
    assertEquals(
        "the bundle has the package io.thalamus.hal of its own, which it must import",
        DeviceTracker.missing(
            fake(Bundle.class, Map.of("getHeaders", headers, "loadClass", String.class))));
    assertEquals(
        LOOK,
        DeviceTracker.missing(
            fake(Bundle.class, Map.of("getHeaders", headers, "loadClass", Device.class))));
  }
}
