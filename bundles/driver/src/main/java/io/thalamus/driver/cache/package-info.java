// SPDX-License-Identifier: Apache-2.0
/**
 * What a driver that caches compilations does with the files it is given. {@link
 * io.thalamus.driver.cache.DeviceCache} is all that it needs: a driver turns a compilation into
 * bytes and back, and nothing else.
 */
@Export
@Version("1.0.0")
package io.thalamus.driver.cache;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
