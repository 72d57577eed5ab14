// SPDX-License-Identifier: Apache-2.0
package io.thalamus.hal;

import io.thalamus.model.DeviceInfo;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.osgi.annotation.bundle.Attribute;
import org.osgi.annotation.bundle.Capability;
import org.osgi.service.component.annotations.ComponentPropertyType;

/**
 * Declares a driver at its component: name and type become properties of the service and attributes
 * of the bundle's capability {@code thalamus.device}, so that a resolver finds a device, and a tool
 * names it before it runs. All else is in its {@link DeviceInfo}, with which these two agree.
 *
 * <p>The type is the property {@code thalamus.type} and the attribute {@code type}; the name is
 * {@code thalamus.device} in both.
 */
@Capability(namespace = DeviceDriver.NAMESPACE)
@ComponentPropertyType
@Retention(RetentionPolicy.CLASS)
@Target(ElementType.TYPE)
public @interface DeviceDriver {
  /** The namespace of the capability and the name of the service property. */
  String NAMESPACE = "thalamus.device";

  /**
   * The beginning of the location of a bundle whose driver is to run in a process of its own. The
   * service of the device is the bundle's as ever.
   */
  String ISOLATED_LOCATION = "isolated:";

  /** The property of a device's service that tells the number of its process, if it has one. */
  String PROCESS = "service.thalamus.process";

  /** The property of such a service that says how memory crosses. */
  String PROCESS_MEMORY = "service.thalamus.process.memory";

  /**
   * The property of another service of a device's bundle that says in one line why there is no
   * device here.
   */
  String UNAVAILABLE = "thalamus.device.unavailable";

  /** Makes {@link #device()} the property {@code thalamus.device}. */
  String PREFIX_ = "thalamus.";

  /** The short name of the device, for example {@code cpu}. */
  @Attribute(DeviceDriver.NAMESPACE)
  String device();

  /** A {@code DeviceType}. */
  @Attribute
  String type();
}
