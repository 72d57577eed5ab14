// SPDX-License-Identifier: Apache-2.0
/** A device whose driver is in another process, as this process sees it. */
package io.thalamus.isolation.proxy;
