// SPDX-License-Identifier: Apache-2.0
package io.thalamus.chaos.service;

import io.thalamus.chaos.FaultInjector;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Optional;
import org.osgi.framework.BundleException;

/** The injectors of devices, by the short names of these. Thread-safe; owns the injectors. */
public interface Injectors {
  /** Returns the short names of the devices that are here. */
  List<String> devices();

  /** Returns the injector of a device that is taken over. */
  Optional<FaultInjector> find(String device);

  /**
   * Returns the injector of a device, which is taken over where it is not yet: it then leaves and
   * comes back before this method returns.
   *
   * @throws NoSuchElementException where there is no such device
   * @throws BundleException where its bundle cannot be stopped and started
   */
  FaultInjector takeOver(String device) throws BundleException;
}
