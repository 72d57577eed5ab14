// SPDX-License-Identifier: Apache-2.0
package io.thalamus.health;

import io.thalamus.api.DeviceDescription;
import io.thalamus.api.NeuralNetworks;
import org.apache.felix.hc.api.FormattingResultLog;
import org.apache.felix.hc.api.HealthCheck;
import org.apache.felix.hc.api.Result;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;

/** Whether devices misbehave: in quarantine, refused, or with calls that never return. */
@Component(property = {HealthCheck.NAME + "=Thalamus quarantine", HealthCheck.TAGS + "=thalamus"})
public final class QuarantineCheck implements HealthCheck {
  private final NeuralNetworks networks;

  /** Called by the component runtime. */
  @Activate
  public QuarantineCheck(@Reference NeuralNetworks networks) {
    this.networks = networks;
  }

  @Override
  public Result execute() {
    FormattingResultLog log = new FormattingResultLog();
    for (DeviceDescription device : networks.devices()) {
      int stuck = device.health().stuckCalls().size();
      switch (device.state()) {
        case QUARANTINED, REFUSED, LEAKED ->
            log.warn("{} is {}: {}", device.id(), device.state(), device.reason());
        case AVAILABLE, ON_TRIAL, LEAVING -> log.info("{} is {}", device.id(), device.state());
      }
      if (stuck > 0) {
        log.warn("{} has {} calls that were given up and have not returned", device.id(), stuck);
      }
    }
    return new Result(log);
  }
}
