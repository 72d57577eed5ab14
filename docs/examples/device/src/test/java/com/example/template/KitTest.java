// SPDX-License-Identifier: Apache-2.0
package com.example.template;

import io.thalamus.hal.Device;
import io.thalamus.tck.junit.DeviceKit;

class KitTest extends DeviceKit {
  @Override
  protected Device newDevice() {
    return new TemplateDevice("1.0.0");
  }
}
