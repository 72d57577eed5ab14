// SPDX-License-Identifier: Apache-2.0
package io.thalamus.health;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.NeuralNetworks;
import java.util.List;
import org.apache.felix.hc.api.FormattingResultLog;
import org.apache.felix.hc.api.HealthCheck;
import org.apache.felix.hc.api.Result;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** Whether there are devices that take work. Thread-safe. */
@Component(property = {HealthCheck.NAME + "=Thalamus devices", HealthCheck.TAGS + "=thalamus"})
public final class DevicesCheck implements HealthCheck {
  private final NeuralNetworks networks;

  /** Called by the component runtime. */
  @Activate
  public DevicesCheck(@Reference NeuralNetworks networks) {
    this.networks = networks;
  }

  @Override
  public Result execute() {
    FormattingResultLog log = new FormattingResultLog();
    List<String> serving =
        networks.devices().stream()
            .filter(device -> device.state() == DeviceDescription.State.AVAILABLE)
            .map(DeviceDescription::id)
            .toList();
    if (serving.isEmpty()) {
      log.critical("no device takes work");
    } else {
      log.info("devices that take work: {}", String.join(", ", serving));
    }
    return new Result(log);
  }
}
