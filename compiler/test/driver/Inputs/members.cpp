#include <string>
#include <vector>
struct Thing {
  static const int limit = 7;
  static int made;
  std::vector<std::string> names;
  template <typename T> int count(T extra) { return names.size() + extra + limit; }
};
int Thing::made = 0;
int use(Thing &thing) {
  try {
    return thing.count(1L) + Thing::made++;
  } catch (const std::exception &error) {
    return error.what()[0];
  }
}
