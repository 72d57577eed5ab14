// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Method;
import org.junit.jupiter.api.Test;

class UsualDeviceSettingsTest {
  @Test
  void theyAreTheDefaults() throws ReflectiveOperationException {
    for (Method setting : DeviceSettings.class.getDeclaredMethods()) {
      assertEquals(
          setting.getDefaultValue(), setting.invoke(new UsualDeviceSettings()), setting.getName());
    }
  }
}
