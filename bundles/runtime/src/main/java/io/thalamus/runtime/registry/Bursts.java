// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.burst.BurstService;
import java.util.Optional;
import org.osgi.service.component.ComponentServiceObjects;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.component.annotations.ReferencePolicyOption;

/**
 * The service of bursts, which is not asked for before the first burst is opened. Thread-safe. A
 * burst that was opened with a service ends when that leaves.
 */
@Component(service = Bursts.class)
public final class Bursts implements AutoCloseable {
  private ComponentServiceObjects<BurstService> objects;

  /** Null until it is needed. */
  private BurstService service;

  /** Without a service until one comes. */
  @Activate
  public Bursts() {}

  /** With a service that its maker ends. */
  public Bursts(BurstService service) {
    this.service = service;
  }

  @Reference(
      cardinality = ReferenceCardinality.OPTIONAL,
      policy = ReferencePolicy.DYNAMIC,
      policyOption = ReferencePolicyOption.GREEDY)
  synchronized void setObjects(ComponentServiceObjects<BurstService> value) {
    release();
    objects = value;
  }

  synchronized void unsetObjects(ComponentServiceObjects<BurstService> value) {
    if (objects == value) {
      release();
      objects = null;
    }
  }

  /** Returns the service; empty while there is none. */
  synchronized Optional<BurstService> service() {
    if (service == null && objects != null) {
      service = objects.getService();
    }
    return Optional.ofNullable(service);
  }

  private void release() {
    if (objects != null && service != null) {
      objects.ungetService(service);
      service = null;
    }
  }

  @Deactivate
  @Override
  public synchronized void close() {
    release();
  }
}
